"""The ASGI application: the bus and the local cloud's own questions in front, the emulator behind."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from local.bus.wire import PATH, Wire
from local.claude.standin import StandIn
from local.faults.injected import Injected
from local.metrics import Metrics
from local.outbox import Outbox
from local.payments.standin import StandIn as Payments
from local.repairs.invocations import Invocations
from local.scope import refusal_of

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

OWN = "/_local/"


class Gateway:
    """Answers `/service/AWSEventsV2/operation/…` and `/_local/…`; passes everything else on, lifespan included."""

    def __init__(
        self,
        emulator_app: Any,
        wire: Wire,
        invocations: Invocations,
        metrics: Metrics,
        standin: StandIn,
        *,
        payments: Payments,
        outbox: Outbox,
        injected: Injected,
        token: str,
    ) -> None:
        self._emulator_app = emulator_app
        self._wire = wire
        self._invocations = invocations
        self._metrics = metrics
        self._standin = standin
        self._payments = payments
        self._outbox = outbox
        self._injected = injected
        self._token = token

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        path = scope.get("path", "")
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope.get("headers", ())}
        refusal = refusal_of(headers, scope.get("query_string", b"").decode("latin-1"))
        if scope["type"] == "http" and refusal is not None:
            await _body(receive)
            await _send(send, refusal.status, dict(refusal.headers), refusal.body)
        elif scope["type"] == "http" and PATH.match(path):
            status, answer_headers, body = self._wire.answer(path, headers, await _body(receive))
            await _send(send, status, answer_headers, body)
        elif scope["type"] == "http" and path.startswith(OWN):
            await _body(receive)
            status, answer = await self._own(path.removeprefix(OWN))
            await _send(send, status, {"content-type": "application/json"}, json.dumps(answer).encode())
        else:
            # The deployed policies deny what is not TLS; here a socket on 127.0.0.1 stands for it.
            await self._emulator_app({**scope, "scheme": "https"} if "scheme" in scope else scope, receive, send)

    async def _own(self, question: str) -> tuple[int, Any]:
        """`status`: whose cloud this is. `warm`: start the handlers and say which could not be loaded."""
        if question == "warm":
            return 200, await asyncio.to_thread(self._invocations.warm)
        answers: Mapping[str, Callable[[], Any]] = {
            "status": lambda: {"token": self._token, "pid": os.getpid()},
            "metrics": self._metrics.listing,
            "outbox": self._outbox.listing,
            "claude": lambda: {**self._standin.counts(), **self._standin.in_doubt()},
            "payments": self._payments.counts,
            "deliveries": self._invocations.deliveries,
            "injected": self._injected.counts,
        }
        if question not in answers:
            return 404, {"message": f"The local cloud does not know {question}."}
        return 200, answers[question]()


async def _body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return b""
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _send(send: Send, status: int, headers: dict[str, str], body: bytes) -> None:
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    pairs.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
