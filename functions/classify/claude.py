"""The adapter to Claude: one request, at most once, its answer taken raw. The only module that imports anthropic.

It is imported while a function initializes: done between a claim and its request, the seconds it takes would turn
kills into false unknowns.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Protocol
from urllib.parse import urlsplit

import anthropic
import httpx2

from functions.api_key import ApiKey
from functions.classify.billing import Answer, Cause, NoAnswer, anthropic_error, bedrock_error, retry_after_s
from functions.clock import Clock, wall_clock
from functions.loop_thread import LoopThread
from functions.paid_http import paid_client
from functions.settings import SettingsError

DEFAULT_BASE_URL = "https://api.anthropic.com"
TOOL = "answer"

BeforeSend = Callable[[], bool]
"""Called once, immediately before the request leaves. False: it must not leave any more."""

# At DEBUG these log whole request bodies, and so the rows in them, whatever ANTHROPIC_LOG says.
for _name in ("anthropic", "httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class _TooLateError(Exception):
    """Raised inside the HTTP client, before it connects, when there is not time enough left for an answer."""


class Client(Protocol):
    """What is used of the SDK's clients."""

    @property
    def messages(self) -> Any: ...


class Provider(Protocol):
    """Where Claude is reached: credentials, parameters and the provider's own signs."""

    def client(self, http: httpx2.AsyncClient) -> Client:
        """Raises KeyUnavailableError."""

    def arguments(self, request: Mapping[str, Any]) -> dict[str, Any]: ...

    def answer(self, response: httpx2.Response, now: float) -> Answer: ...

    def refused(self, client: Client) -> None:
        """The credentials of this client were answered with 401."""


class AnthropicProvider:
    """The Anthropic API, with the key of a secret. Raises SettingsError for a base URL that no request can go to."""

    def __init__(self, key: ApiKey, base_url: str = DEFAULT_BASE_URL) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SettingsError(f"ANTHROPIC_BASE_URL is {base_url!r}; give an http or https address, or leave it unset")
        self._key = key
        self._base_url = base_url

    def client(self, http: httpx2.AsyncClient) -> Client:
        # An explicit key: no other credential of the environment is looked for, and a 401 is not tried again.
        return anthropic.AsyncAnthropic(
            api_key=self._key.get(), base_url=self._base_url, http_client=http, max_retries=0, open_telemetry=False
        )

    def arguments(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return dict(request)

    def answer(self, response: httpx2.Response, now: float) -> Answer:
        return Answer(
            status=response.status_code,
            body=response.content,
            request_id=response.headers.get("request-id", ""),
            retry_after_s=retry_after_s(response.headers.get("retry-after"), now),
            error=anthropic_error(response.content),
        )

    def refused(self, client: Client) -> None:
        if isinstance(client, anthropic.AsyncAnthropic):
            self._key.forget(client.api_key or "")


class BedrockProvider:
    """Claude in Amazon Bedrock, signed with the function's role.

    Whether `output_config` is understood there is documented both ways, so the schema goes as a forced tool.
    """

    def __init__(self, region: str) -> None:
        self._region = region

    def client(self, http: httpx2.AsyncClient) -> Client:
        return anthropic.AsyncAnthropicBedrock(
            aws_region=self._region, http_client=http, max_retries=0, open_telemetry=False
        )

    def arguments(self, request: Mapping[str, Any]) -> dict[str, Any]:
        schema = request["output_config"]["format"]["schema"]
        return {
            **{name: value for name, value in request.items() if name != "output_config"},
            "model": bedrock_model(request["model"]),
            "tools": [{"name": TOOL, "description": "Give the answer.", "input_schema": schema}],
            "tool_choice": {"type": "tool", "name": TOOL, "disable_parallel_tool_use": True},
        }

    def answer(self, response: httpx2.Response, now: float) -> Answer:
        return Answer(
            status=response.status_code,
            body=response.content,
            request_id=response.headers.get("x-amzn-requestid", ""),
            retry_after_s=retry_after_s(response.headers.get("retry-after"), now),
            error=bedrock_error(response.content, response.headers.get("x-amzn-errortype", "")),
        )

    def refused(self, client: Client) -> None:
        """Nothing to forget: the role's credentials are renewed by the SDK."""


def bedrock_model(model: str) -> str:
    """Bedrock's id of a model: `anthropic.` before Anthropic's own; an inference profile or ARN stays as it is."""
    return model if "anthropic." in model else f"anthropic.{model}"


class Claude:
    """Sends one Messages request per call, from any thread, over a connection of its own.

    `deadline_s` is the total time from the call to the last byte of the answer, not the time between two reads.
    """

    def __init__(self, provider: Provider, *, deadline_s: float, clock: Clock = wall_clock) -> None:
        self._provider = provider
        self._deadline_s = deadline_s
        self._clock = clock
        self._http = paid_client(deadline_s, event_hooks={"request": [_pass_the_gate]})
        self._loop = LoopThread("claude")

    def ask(self, request: Mapping[str, Any], before_send: BeforeSend) -> Answer | NoAnswer:
        """Send it once and wait for the answer, however it ends: the caller never returns while it is under way.

        Raises KeyUnavailableError, and whatever a defect raises; every failure of the transport is a NoAnswer.
        """
        client = self._provider.client(self._http)
        return self._loop.run(self._ask(client, self._provider.arguments(request), before_send))

    def close(self) -> None:
        """End the thread of the event loop and its connections."""
        self._loop.run(self._http.aclose())
        self._loop.stop()

    async def _ask(self, client: Client, arguments: dict[str, Any], before_send: BeforeSend) -> Answer | NoAnswer:
        gate = _Gate(before_send)
        _gate.set(gate)
        try:
            async with asyncio.timeout(self._deadline_s):
                raw = await client.messages.with_raw_response.create(**arguments)
            response = raw.http_response
        except anthropic.APIStatusError as error:
            response = error.response
        except anthropic.APIConnectionError as error:
            return NoAnswer(_cause(error.__cause__))
        except TimeoutError:
            return NoAnswer("timed_out" if gate.passed else "not_connected")
        if response.status_code == 401:
            self._provider.refused(client)
        return self._provider.answer(response, self._clock())


class _Gate:
    """The last moment before a request leaves: it passes at most once."""

    def __init__(self, before_send: BeforeSend) -> None:
        self._before_send = before_send
        self.passed = False

    def go_through(self) -> None:
        # A second request of one call, whoever thought of it, would be an attempt that nobody counted.
        if self.passed or not self._before_send():
            raise _TooLateError
        self.passed = True


_gate: ContextVar[_Gate] = ContextVar("gate")


async def _pass_the_gate(_request: httpx2.Request) -> None:
    _gate.get().go_through()


def _cause(error: BaseException | None) -> Cause:
    match error:
        case _TooLateError():
            return "out_of_time"
        case httpx2.ConnectError() | httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            return "not_connected"
        case httpx2.TimeoutException():
            return "timed_out"
        case httpx2.TransportError():
            return "connection_lost"
        case _:
            return "other"
