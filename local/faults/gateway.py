"""The ASGI layer in front of the local cloud that lets its services fail as the rules say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import cbor2
from hypercorn.protocol.http_stream import ASGIHTTPState, HTTPStream

from local.errors import LocalCloudError
from local.faults.requests import Request, asked_of, signer_of
from local.faults.rules import FaultRules, Then
from local.wire_errors import WireError, wire_error

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


@dataclass
class _Answer:
    """What the application behind answered, held back."""

    start: Message = field(default_factory=dict)
    body: bytes = b""

    async def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.start = message
        else:
            self.body += message.get("body", b"")


class FaultyGateway:
    """Passes requests on to `app`, but those that a rule matches. `caller_of` names the function of an access key."""

    def __init__(self, app: App, rules: FaultRules, caller_of: Callable[[str], str]) -> None:
        self._app = app
        self._rules = rules
        self._caller_of = caller_of

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope.get("headers", ())}
        key, service = signer_of(headers)
        if scope["type"] != "http" or not service:
            await self._app(scope, receive, send)
            return
        body = await _body(receive)
        if body is None:
            return
        query = scope.get("query_string", b"").decode("latin-1")
        request = Request(scope["method"], scope["path"], query, headers, body)
        then = self._rules.match(asked_of(request, self._caller_of(key)))
        if then is None:
            await self._app(scope, _again(body), send)
            return
        await asyncio.sleep(then.delay_s)
        if then.entries:
            await self._fail_entries(then, scope, body, send)
        else:
            error = wire_error(then.status or 0, then.code, then.message, service, headers)
            await self._fail(then, error, _Passed(scope, body), send)

    async def _fail(self, then: Then, error: WireError, request: _Passed, send: Send) -> None:
        if then.applied or then.lost == "answer":
            await self._do(request)
        if then.lost:
            _hang_up(send)
        elif then.status is not None:
            await _error(send, error)
        else:
            await self._app(request.scope, _again(request.body), send)

    async def _do(self, request: _Passed) -> _Answer:
        """Have it done; the answer goes no further."""
        answer = _Answer()
        await self._app(request.scope, _again(request.body), answer.take)
        return answer

    async def _fail_entries(self, then: Then, scope: Message, body: bytes, send: Send) -> None:
        asked = cbor2.loads(body)
        entries: Sequence[Any] = asked["Entries"]
        failing = {index for index in then.entries if index < len(entries)}
        passing = [entry for index, entry in enumerate(entries) if index not in failing]
        failure = {"ErrorCode": then.code, "ErrorMessage": then.message}
        if not passing:
            start = {"type": "http.response.start", "status": 200, "headers": _CBOR}
            failed = {"FailedEntryCount": len(entries), "Entries": [failure for _ in entries]}
            await _send(send, start, cbor2.dumps(failed))
            return
        less = cbor2.dumps({**asked, "Entries": passing}, datetime_as_timestamp=True)
        answer = await self._do(_Passed(scope, less))
        if answer.start["status"] == 200:
            done = cbor2.loads(answer.body)
            published = iter(done["Entries"])
            done["Entries"] = [failure if index in failing else next(published) for index in range(len(entries))]
            done["FailedEntryCount"] += len(failing)
            answer.body = cbor2.dumps(done, datetime_as_timestamp=True)
        await _send(send, answer.start, answer.body)


@dataclass(frozen=True)
class _Passed:
    scope: Message
    body: bytes


_CBOR = [(b"content-type", b"application/cbor"), (b"smithy-protocol", b"rpc-v2-cbor")]


async def _body(receive: Receive) -> bytes | None:
    """The whole body; None when the client went away before it was there."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def _again(body: bytes) -> Receive:
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> Message:
        return next(messages, {"type": "http.disconnect"})

    return receive


def _hang_up(send: Send) -> None:
    """End the connection without a byte. ASGI has no word for it, so the stream is told that it has answered already.

    Hypercorn then finds a request without an answer, and closes.
    """
    stream = getattr(send, "__self__", None)
    if not isinstance(stream, HTTPStream):
        raise LocalCloudError("This hypercorn hands its applications no HTTPStream; install the pinned version.")
    stream.state = ASGIHTTPState.CLOSED


async def _error(send: Send, error: WireError) -> None:
    headers = [(name.encode(), value.encode()) for name, value in error.headers.items()]
    await _send(send, {"type": "http.response.start", "status": error.status, "headers": headers}, error.body)


async def _send(send: Send, start: Message, body: bytes) -> None:
    headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
    await send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})
