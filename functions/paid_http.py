"""The HTTP client of requests that cost money: each leaves once, over a connection of its own."""

from __future__ import annotations

from typing import Any

import httpx2

_CONNECT_TIMEOUT_S = 5.0


def paid_client(deadline_s: float, **more: Any) -> httpx2.AsyncClient:
    """`deadline_s` bounds each step; the caller bounds their sum. `more` is what else the client is made with."""
    return httpx2.AsyncClient(
        # No redirect, no proxy and no kept connection: each could carry a paid request twice or elsewhere.
        follow_redirects=False,
        trust_env=False,
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=0),
        # Connecting gives up first, so that a total timeout never hides that nothing was sent.
        timeout=httpx2.Timeout(deadline_s, connect=min(_CONNECT_TIMEOUT_S, deadline_s / 4)),
        **more,
    )
