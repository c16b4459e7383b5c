"""The real Anthropic SDK against the stand-in's HTTP server."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx2
import pytest

from local.claude.http import ClaudeServer
from local.claude.script import parse_script
from local.claude.standin import StandIn

Start = Callable[[list[Any]], "Served"]
DEADLINE_S = 10.0


class Served:
    """The server on a loop of its own thread, and a client of it."""

    def __init__(self, script: list[Any]) -> None:
        self.standin = StandIn(parse_script(script))
        self.server = ClaudeServer(self.standin)
        listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self._on_loop(self.server.start(listening))

    def ask(self, text: str = '{"title": "CEO", "notes": "demo"}', timeout_s: float = 5.0) -> anthropic.types.Message:
        with anthropic.Anthropic(base_url=self.url, api_key="k", max_retries=0, timeout=timeout_s) as client:
            return client.messages.create(
                model="claude-haiku-5-5", max_tokens=64, messages=[{"role": "user", "content": text}]
            )

    def open_connections(self) -> int:
        return len(self.server._connections)

    def close(self) -> None:
        self._on_loop(self.server.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _on_loop(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(DEADLINE_S)


@pytest.fixture
def start() -> Iterator[Start]:
    running: list[Served] = []

    def make(script: list[Any]) -> Served:
        running.append(Served(script))
        return running[-1]

    yield make
    for served in running:
        served.close()


def test_a_message_has_its_text_usage_and_request_id(start: Start) -> None:
    message = start([]).ask()
    assert message.content[0].type == "text"
    assert message.content[0].text == '{"label": "hot"}'
    assert message.stop_reason == "end_turn"
    assert message.usage.input_tokens > 0
    assert (message._request_id or "").startswith("req_standin_")


def test_one_connection_serves_several_requests(start: Start) -> None:
    served = start([])
    with anthropic.Anthropic(base_url=served.url, api_key="k", max_retries=0) as client:
        for _ in range(3):
            client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}])
        assert served.open_connections() == 1
    assert served.standin.counts()["model_requests"] == 3


def test_an_error_is_the_sdks_own_with_its_headers(start: Start) -> None:
    then = {"status": 429, "type": "rate_limit_error", "headers": {"retry-after": "7"}}
    with pytest.raises(anthropic.RateLimitError) as raised:
        start([{"when": {"request": 1}, "then": then}]).ask()
    assert raised.value.response.headers["retry-after"] == "7"
    assert raised.value.request_id


@pytest.mark.parametrize(("drop", "read"), [("before_reading", 0), ("after_reading", 1), ("in_the_answer", 1)])
def test_a_drop_reaches_the_client_as_a_broken_connection(start: Start, drop: str, read: int) -> None:
    served = start([{"when": {"request": 1}, "then": {"drop": drop}}])
    with pytest.raises(anthropic.APIConnectionError) as raised:
        served.ask()
    assert not isinstance(raised.value.__cause__, httpx2.ConnectError)
    assert served.standin.counts()["model_requests"] == read


def test_a_client_that_stops_waiting_leaves_nothing_open(start: Start) -> None:
    served = start([{"when": {"request": 1}, "then": {"delay_s": 3600}}])
    with pytest.raises(anthropic.APITimeoutError):
        served.ask(timeout_s=0.3)
    deadline = time.monotonic() + DEADLINE_S
    while served.open_connections() and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    assert served.open_connections() == 0
    assert served.standin.counts() == {"model_requests": 1, "billed_requests": 1}


def test_a_delay_that_the_client_outlasts_ends_in_the_answer(start: Start) -> None:
    then = {"delay_s": 0.2, "text": "warm"}
    message = start([{"when": {"request": 1}, "then": then}]).ask()
    assert message.content[0].type == "text"
    assert message.content[0].text == "warm"


def test_other_paths_are_not_requests_to_the_model(start: Start) -> None:
    served = start([])
    client = anthropic.Anthropic(base_url=served.url, api_key="k", max_retries=0)
    with client, pytest.raises(anthropic.NotFoundError):
        client.messages.count_tokens(model="m", messages=[{"role": "user", "content": "x"}])
    assert served.standin.counts() == {"model_requests": 0, "billed_requests": 0}
