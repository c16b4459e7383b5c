"""Refunds through Stripe, by its own library: one request a call, a total deadline, and nobody retries."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextvars import ContextVar
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

import httpx2
import stripe

from functions.api_key import ApiKey, KeyUnavailableError
from functions.crash_points import crossing
from functions.loop_thread import LoopThread
from functions.paid_http import paid_client
from functions.refunds.model import Action
from functions.refunds.providers.protocol import BeforeSend, CannotTell, LookUp, Reply
from functions.refunds.providers.stripe_amounts import stripe_amount
from functions.refunds.providers.stripe_answers import REFERENCE, Answer, Cause, look_up_among, reply_for, reply_of
from functions.settings import SettingsError

MOST_REFUNDS = 1_000
"""Of one payment; a list that does not end before is not believed."""
_PAGE = 100


class StripeProvider:
    """Safe to use from many threads. Raises SettingsError for a base address that no request can go to.

    `deadline_s` is the total time of a request, from the call to the last byte of the answer. `keys_retention_s`: how
    long Stripe is relied on to keep an idempotency key.
    """

    def __init__(self, key: ApiKey, *, api_base: str, deadline_s: float, keys_retention_s: float | None) -> None:
        parts = urlsplit(api_base)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SettingsError(f"STRIPE_API_BASE is {api_base!r}; give an http or https address, or leave it unset")
        self.keys_retention_s = keys_retention_s
        self._key = key
        self._api_base = api_base
        self._transport = _Transport(deadline_s)

    def refund(self, action: Action, *, idempotency_key: str, before_send: BeforeSend) -> Reply:
        amount = stripe_amount(action.amount_minor, action.currency)
        if amount is None:
            return Reply("failed", "amount_not_representable")
        try:
            key = self._key.get()
        except KeyUnavailableError as error:
            return Reply("released", "provider_key_unread" if error.passing else "provider_key_unavailable")
        params: Any = {**_payment(action), "amount": amount, "metadata": {REFERENCE: action.request_id}}
        with _Gate(before_send) as gate:
            try:
                with crossing("refunds.stripe_create"):
                    self._client(key).v1.refunds.create(params, {"idempotency_key": idempotency_key})
            except stripe.StripeError as error:
                if gate.answer is None:
                    return reply_of(_cause(error.__cause__))
        if gate.answer is None:
            return reply_of("other")
        if gate.answer.status == 401:
            self._key.forget(key)
        # From what was read off the wire, whatever the library made of it.
        return reply_for(action, gate.answer)

    def look_up(self, action: Action) -> LookUp:
        """Among the refunds of the payment, all pages: listing is consistent, which Stripe's search is not."""
        params: Any = {**_payment(action), "limit": _PAGE}
        try:
            client = self._client(self._key.get())
            with crossing("refunds.stripe_list"):
                pages = client.v1.refunds.list(params).auto_paging_iter()
                refunds = [refund.to_dict() for refund in islice(pages, MOST_REFUNDS)]
        except KeyUnavailableError:
            return CannotTell("provider_key_unavailable")
        except stripe.StripeError:
            return CannotTell("provider_look_up_failed")
        except Exception:  # noqa: BLE001 - the library reads a list of another shape with whatever comes of it
            return CannotTell("provider_look_up_unreadable")
        if len(refunds) == MOST_REFUNDS:
            return CannotTell("provider_look_up_unreadable")
        return look_up_among(action, refunds)

    def close(self) -> None:
        """End the thread of the event loop and its connections."""
        self._transport.close()

    def _client(self, key: str) -> stripe.StripeClient:
        return stripe.StripeClient(
            key, base_addresses={"api": self._api_base}, http_client=self._transport, max_network_retries=0
        )


def _payment(action: Action) -> dict[str, Any]:
    return {"payment_intent" if action.payment.startswith("pi_") else "charge": action.payment}


class _TooLateError(Exception):
    """The gate did not open, so nothing was sent."""


class _SecondRequestError(Exception):
    """One call wanted to send twice."""


class _Gate:
    """Around one paid call: the last moment before its request leaves, passed at most once, and the answer read."""

    def __init__(self, before_send: BeforeSend) -> None:
        self._before_send = before_send
        self._passed = False
        self.answer: Answer | None = None

    def __enter__(self) -> _Gate:
        self._token = _gate.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _gate.reset(self._token)

    def go_through(self) -> None:
        # A second request of one call, whoever thought of it, would be an attempt that nobody counted. It is stopped,
        # and says nothing about the first.
        if self._passed:
            raise _SecondRequestError
        if not self._before_send():
            raise _TooLateError
        self._passed = True


_gate: ContextVar[_Gate] = ContextVar("gate")


class _Transport(stripe.HTTPClient):
    """Stripe's library over a client without redirects, proxies, kept connections and retries."""

    name = "httpx2"

    def __init__(self, deadline_s: float) -> None:
        super().__init__()
        self._deadline_s = deadline_s
        self._http = paid_client(deadline_s)
        self._loop = LoopThread("stripe")

    def request(  # type: ignore[override]  # the library's own clients return bytes as well
        self, method: str, url: str, headers: Mapping[str, str] | None, post_data: Any = None
    ) -> tuple[bytes, int, Mapping[str, str]]:
        # Whatever changes something at Stripe is a paid call, and goes through its gate.
        gate = None if method.lower() == "get" else _gate.get()
        try:
            response = self._loop.run(self._send(method, url, headers, post_data, gate))
        except (httpx2.HTTPError, TimeoutError, _TooLateError, _SecondRequestError) as error:
            raise stripe.APIConnectionError("no complete answer came") from error  # type: ignore[no-untyped-call]
        if gate is not None:
            gate.answer = Answer(
                status=response.status_code,
                body=response.content,
                provider_request_id=response.headers.get("request-id", ""),
                retry_after=response.headers.get("retry-after", ""),
            )
        return response.content, response.status_code, response.headers

    async def _send(
        self, method: str, url: str, headers: Mapping[str, str] | None, post_data: Any, gate: _Gate | None
    ) -> httpx2.Response:
        request = self._http.build_request(method, url, headers=headers, content=post_data)
        if gate is not None:
            gate.go_through()
        async with asyncio.timeout(self._deadline_s):
            return await self._http.send(request)

    def close(self) -> None:
        self._loop.run(self._http.aclose())
        self._loop.stop()


def _cause(error: BaseException | None) -> Cause:
    match error:
        case _TooLateError():
            return "out_of_time"
        case httpx2.ConnectError() | httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            return "not_connected"
        case httpx2.TimeoutException() | TimeoutError():
            return "timed_out"
        case httpx2.TransportError():
            return "connection_lost"
        case _:
            return "other"
