"""The point `request.sent`: a request of httpx2, Claude's SDK's client, has left whole and no answer was read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2

SENT = "request.sent"
_LEFT = "http11.send_request_body.complete"


def install(arrived: Callable[[str], None]) -> None:
    """Follow every request of this process through the client's own trace of it."""
    asynchronous, synchronous = httpx2.AsyncHTTPTransport.handle_async_request, httpx2.HTTPTransport.handle_request

    def note(event: str, _info: Any) -> None:
        if event == _LEFT:
            arrived(SENT)

    async def note_async(event: str, info: Any) -> None:
        note(event, info)

    async def traced_async(self: Any, request: httpx2.Request) -> httpx2.Response:
        request.extensions = {**request.extensions, "trace": note_async}
        return await asynchronous(self, request)

    def traced(self: Any, request: httpx2.Request) -> httpx2.Response:
        request.extensions = {**request.extensions, "trace": note}
        return synchronous(self, request)

    httpx2.AsyncHTTPTransport.handle_async_request = traced_async  # type: ignore[method-assign]
    httpx2.HTTPTransport.handle_request = traced  # type: ignore[method-assign]
