"""The stand-in's HTTP server: a thread for each connection, because a script may answer late or reset it instead."""

from __future__ import annotations

import socket
import struct
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from local.payments.standin import Reply, StandIn

_PATH = "/v1/refunds"
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_NOT_FOUND = Reply(404, b'{"error": {"type": "invalid_request_error", "message": "The stand-in makes refunds only."}}')
_NO_KEY = Reply(401, b'{"error": {"type": "invalid_request_error", "message": "You did not provide an API key."}}')


class PaymentsServer:
    """Serves `standin` on a socket that is already bound and listens."""

    def __init__(self, standin: StandIn) -> None:
        handler = type("Handler", (_Handler,), {"standin": standin})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler, bind_and_activate=False)
        # Whoever answers late does not hold up the end of the server.
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._thread = threading.Thread(target=self._server.serve_forever, name="payments", daemon=True)

    def start(self, listening: socket.socket) -> None:
        listening.settimeout(None)
        self._server.socket.close()
        self._server.socket = listening
        self._server.server_address = listening.getsockname()
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    standin: StandIn

    def do_POST(self) -> None:
        form = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        parameters = dict(parse_qsl(form, keep_blank_values=True))
        key = self.headers.get("idempotency-key", "")
        self._answer(lambda: self.standin.create(parameters, key))

    def do_GET(self) -> None:
        parameters = dict(parse_qsl(urlsplit(self.path).query))
        self._answer(lambda: self.standin.list(parameters))

    def _answer(self, reply_of: Any) -> None:
        if urlsplit(self.path).path != _PATH:
            return self._send(_NOT_FOUND)
        if not self.headers.get("authorization"):
            return self._send(_NO_KEY)
        reply: Reply = reply_of()
        return self._drop() if reply.drop else self._send(reply)

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        headers = {"content-type": "application/json", "request-id": f"req_standin_{uuid.uuid4().hex[:20]}"}
        for name, value in {**headers, **reply.headers, "content-length": str(len(reply.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    def _drop(self) -> None:
        # Lingering for zero seconds makes close() a reset, as when a server dies: no orderly end reaches the client.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.close_connection = True
        self.connection.close()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it
        """Nothing is logged: a request names a payment."""
