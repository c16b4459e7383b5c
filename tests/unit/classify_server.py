"""A model server on a real socket, so that the real SDK is what is tested. It says and breaks what a test tells it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Behaviour = Callable[["Exchange"], None]


class Exchange:
    """One connection. `read` takes the request and counts it; whatever is not sent is not said."""

    def __init__(self, server: ModelServer, connection: socket.socket) -> None:
        self.server = server
        self.connection = connection

    @property
    def stopping(self) -> threading.Event:
        return self.server.stopping

    def read(self) -> bool:
        """Read one request to its end. False: the client closed the connection instead."""
        head = b""
        while b"\r\n\r\n" not in head:
            received = self.connection.recv(65536)
            if not received:
                return False
            head += received
        lines, _, body = head.partition(b"\r\n\r\n")
        headers = dict(line.lower().split(b": ", 1) for line in lines.split(b"\r\n")[1:])
        while len(body) < int(headers.get(b"content-length", b"0")):
            body += self.connection.recv(65536)
        self.server.note(lines.decode(), body)
        return True

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)


class ModelServer:
    """Answers on 127.0.0.1 with a behaviour that the test may change; ended by `running`."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.behaviour: Behaviour = answer(message())
        self.requests: list[tuple[str, Any]] = []
        self.connections = 0
        self.stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    def note(self, head: str, body: bytes) -> None:
        self.requests.append((head, json.loads(body)))

    @contextmanager
    def running(self) -> Iterator[ModelServer]:
        accepting = threading.Thread(target=self._accept, daemon=True)
        accepting.start()
        try:
            yield self
        finally:
            self.stopping.set()
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            for thread in (accepting, *self._threads):
                thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            try:
                self.behaviour(Exchange(self, connection))
            except OSError:
                return


def message(text: str = '{"label":"hot"}', **changed: Any) -> bytes:
    """A Messages API answer."""
    answered = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-5-5",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1_000, "output_tokens": 10},
    }
    return json.dumps({**answered, **changed}).encode()


def error(kind: str = "api_error", text: str = "no", **details: str) -> bytes:
    """An error body of Anthropic's."""
    inner = {"type": kind, "message": text, **({"details": details} if details else {})}
    return json.dumps({"type": "error", "error": inner, "request_id": "req_1"}).encode()


def http(status: int, body: bytes, content_type: str = "application/json", **headers: str) -> bytes:
    fields = {
        "content-type": content_type,
        "content-length": str(len(body)),
        "request-id": "req_1",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} Status\r\n{head}\r\n".encode() + body


def answer(body: bytes, status: int = 200, content_type: str = "application/json", **headers: str) -> Behaviour:
    """Answers every request on the connection, as a server that keeps connections alive."""

    def behave(exchange: Exchange) -> None:
        while exchange.read():
            exchange.send(http(status, body, content_type, **headers))

    return behave


def drop_before_reading(exchange: Exchange) -> None:
    """Close without a look at the request."""


def drop_after_reading(exchange: Exchange) -> None:
    exchange.read()


def send_and_drop(data: bytes) -> Behaviour:
    def behave(exchange: Exchange) -> None:
        exchange.read()
        exchange.send(data)

    return behave


def say_nothing(exchange: Exchange) -> None:
    exchange.read()
    exchange.stopping.wait(30)


def trickle(exchange: Exchange) -> None:
    """A byte now and then, each well within any read timeout, and no end."""
    exchange.read()
    exchange.send(http(200, b"x" * 10_000)[:-10_000])
    while not exchange.stopping.wait(0.02):
        exchange.send(b" ")
