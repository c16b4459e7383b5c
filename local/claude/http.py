"""The stand-in's HTTP server: asyncio and h11, because a script may close a connection instead of answering."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import struct
import uuid
from collections.abc import Mapping

import h11

from local.claude.standin import Reply, StandIn

logger = logging.getLogger(__name__)

_PATH = "/v1/messages"
_READ_BYTES = 65536
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class ClaudeServer:
    """Serves `standin` on a socket that is already bound; `start` and `close` run on the same event loop."""

    def __init__(self, standin: StandIn) -> None:
        self._standin = standin
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self, listening: socket.socket) -> None:
        self._server = await asyncio.start_server(self._accepted, sock=listening)

    async def close(self) -> None:
        """Stop listening and end every open connection."""
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)
        try:
            await _Connection(self._standin, reader, writer).serve()
        except (ConnectionError, h11.RemoteProtocolError, asyncio.CancelledError):
            logger.debug("a client of the stand-in went away")
        finally:
            writer.close()


class _Connection:
    def __init__(self, standin: StandIn, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._standin = standin
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER)

    async def serve(self) -> None:
        while True:
            request = await self._event()
            if not isinstance(request, h11.Request):
                return
            if not await self._handle(request):
                return
            if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                return
            self._http.start_next_cycle()

    async def _handle(self, request: h11.Request) -> bool:
        """Answer one request; False when the connection was dropped instead."""
        path = request.target.split(b"?")[0].decode()
        if (request.method, path) != (b"POST", _PATH):
            await self._body()
            await self._send(_not_found(path))
            return True
        number = self._standin.arrived()
        if self._standin.drops_unread(number):
            self._drop()
            return False
        body = await self._body()
        headers = {name.decode().lower(): value.decode() for name, value in request.headers}
        reply = self._standin.answer(number, headers, body)
        if reply.drop == "in_the_answer":
            await self._send_half(_identified(reply))
            self._drop()
            return False
        if reply.drop:
            self._drop()
            return False
        if reply.delay_s and not await self._still_there(reply.delay_s):
            return False
        await self._send(_identified(reply))
        return True

    async def _still_there(self, delay_s: float) -> bool:
        """Wait, but no longer than the client does."""
        gone = asyncio.ensure_future(self._reader.read(1))
        try:
            done, _ = await asyncio.wait({gone}, timeout=delay_s)
        finally:
            gone.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError):
                await gone
        return not done

    async def _body(self) -> bytes:
        parts = []
        while True:
            event = await self._event()
            if isinstance(event, h11.Data):
                parts.append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage):
                return b"".join(parts)
            else:
                raise ConnectionResetError

    async def _event(self) -> object:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            if self._http.they_are_waiting_for_100_continue:
                self._write(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(await self._reader.read(_READ_BYTES))

    async def _send(self, reply: Reply) -> None:
        headers = {"content-type": "application/json", **reply.headers, "content-length": str(len(reply.body))}
        self._write(h11.Response(status_code=reply.status, headers=list(headers.items())))
        self._write(h11.Data(data=reply.body))
        self._write(h11.EndOfMessage())
        await self._writer.drain()

    async def _send_half(self, reply: Reply) -> None:
        """The head, which promises all of the body, and half of it."""
        headers = {"content-type": "application/json", "content-length": str(len(reply.body)), **reply.headers}
        self._write(h11.Response(status_code=reply.status, headers=list(headers.items())))
        self._write(h11.Data(data=reply.body[: len(reply.body) // 2]))
        await self._writer.drain()

    def _write(self, event: h11.Event) -> None:
        self._writer.write(self._http.send(event) or b"")

    def _drop(self) -> None:
        # Lingering for zero seconds makes close() a reset, as when a server dies: no orderly end reaches the client.
        handle = self._writer.get_extra_info("socket")
        handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self._writer.transport.abort()


def _identified(reply: Reply) -> Reply:
    """Every answer of the API has a request id; a message has an id of its own."""
    body = reply.body
    with contextlib.suppress(ValueError):
        decoded = json.loads(body)
        if isinstance(decoded, dict) and decoded.get("type") == "message":
            body = json.dumps({"id": f"msg_standin_{uuid.uuid4().hex[:20]}", **decoded}).encode()
    headers: Mapping[str, str] = {"request-id": f"req_standin_{uuid.uuid4().hex[:20]}", **reply.headers}
    return Reply(reply.status, body, headers)


def _not_found(path: str) -> Reply:
    error = {"type": "error", "error": {"type": "not_found_error", "message": f"The stand-in has no {path}."}}
    return Reply(404, json.dumps(error).encode())
