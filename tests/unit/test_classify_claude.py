"""The real SDK against a socket: whatever happens on the wire is one request at most, and is told for what it is."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from functions.api_key import KeyUnavailableError
from functions.classify.billing import Answer, NoAnswer
from functions.classify.claude import AnthropicProvider, BedrockProvider, Claude, bedrock_model
from functions.classify.effect import outcome_of
from functions.classify.task import build_task
from functions.effects.outcomes import Outcome
from functions.settings import SettingsError, TaskSettings
from tests.unit.classify_server import (
    Behaviour,
    ModelServer,
    answer,
    drop_after_reading,
    drop_before_reading,
    error,
    http,
    message,
    say_nothing,
    send_and_drop,
    trickle,
)

TASK = build_task(TaskSettings())
RENDERED = {"email": "canary-7f3a21@example.com", "notes": "CANARY-NOTE"}
DEADLINE_S = 0.6


class FakeKey:
    def __init__(self, key: str = "key-1") -> None:
        self.key = key
        self.forgotten: list[str] = []

    def get(self) -> str:
        if not self.key:
            raise KeyUnavailableError("none")
        return self.key

    def forget(self, key: str) -> None:
        self.forgotten.append(key)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer().running() as running:
        yield running


@pytest.fixture
def key() -> FakeKey:
    return FakeKey()


@pytest.fixture
def claude_at(key: FakeKey) -> Iterator[Callable[..., Claude]]:
    made: list[Claude] = []

    def make(url: str, deadline_s: float = 10.0) -> Claude:
        made.append(Claude(AnthropicProvider(key, url), deadline_s=deadline_s))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for claude in made:
        claude.close()


def ask(claude: Claude, before_send: Callable[[], bool] = lambda: True) -> Outcome:
    return outcome_of(TASK, RENDERED, claude.ask(TASK.request(RENDERED), before_send))


def test_a_good_answer(server: ModelServer, claude_at: Callable[..., Claude]) -> None:
    outcome = ask(claude_at(server.url))
    assert outcome.kind == "succeeded"
    assert outcome.result == {
        "label": "hot",
        "cost_microusd": 105,
        "usage": {"input_tokens": 1_000, "output_tokens": 10},
    }
    assert outcome.audit["request_id"] == "req_1"
    assert outcome.audit["prompt_version"] == TASK.prompt_version
    assert outcome.audit["stop_reason"] == "end_turn"
    head, body = server.requests[0]
    assert head.startswith("POST /v1/messages HTTP/1.1")
    assert "authorization: bearer key-1" in head.lower()
    assert body == TASK.request(RENDERED)


@pytest.mark.parametrize(
    ("behaviour", "end", "read"),
    [
        (drop_before_reading, ("unknown", "llm_connection_lost_outcome_unknown"), 0),
        (drop_after_reading, ("unknown", "llm_connection_lost_outcome_unknown"), 1),
        (send_and_drop(b"HTTP/1.1 200 OK\r\ncontent-le"), ("unknown", "llm_connection_lost_outcome_unknown"), 1),
        (send_and_drop(http(200, message())[:-20]), ("unknown", "llm_connection_lost_outcome_unknown"), 1),
        (send_and_drop(http(529, error())[:-20]), ("unknown", "llm_connection_lost_outcome_unknown"), 1),
        (send_and_drop(b"SSH-2.0-OpenSSH_9.9\r\n"), ("unknown", "llm_connection_lost_outcome_unknown"), 1),
        (answer(b"<html>hot</html>", content_type="text/html"), ("failed", "unreadable_answer"), 1),
        (answer(b'{"type":"message","content":['), ("failed", "unreadable_answer"), 1),
        (answer(b""), ("failed", "unreadable_answer"), 1),
        (answer(error()), ("failed", "unreadable_answer"), 1),
        (answer(message(stop_reason="max_tokens")), ("failed", "llm_truncated"), 1),
        (answer(message(stop_reason="refusal", content=[])), ("failed", "llm_refused"), 1),
        (answer(message("maybe")), ("failed", "invalid_label"), 1),
        (answer(message(), 201), ("unknown", "llm_error_outcome_unknown"), 1),
        (answer(b"", 307, location="/elsewhere"), ("unknown", "llm_error_outcome_unknown"), 1),
    ],
)
def test_the_wire(
    server: ModelServer, claude_at: Callable[..., Claude], behaviour: Behaviour, end: tuple[str, str], read: int
) -> None:
    server.behaviour = behaviour
    outcome = ask(claude_at(server.url))
    assert (outcome.kind, outcome.reason) == end
    assert outcome.paid
    assert (server.connections, len(server.requests)) == (1, read)


STATUSES = [
    (400, "failed", "llm_bad_request"),
    (401, "released", "llm_key_refused"),
    (402, "released", "llm_billing_refused"),
    (403, "released", "llm_permission_denied"),
    (404, "released", "llm_model_not_found"),
    (413, "failed", "llm_bad_request"),
    (422, "failed", "llm_bad_request"),
    (429, "released", "llm_rate_limited"),
    (500, "unknown", "llm_error_outcome_unknown"),
    (503, "released", "llm_unavailable"),
    (529, "released", "llm_overloaded"),
]


@pytest.mark.parametrize(("status", "kind", "reason"), STATUSES)
def test_a_status_with_anthropics_body(
    server: ModelServer, claude_at: Callable[..., Claude], status: int, kind: str, reason: str
) -> None:
    # The header asks the SDK to retry, which it would do with retries on.
    server.behaviour = answer(error(), status, x_should_retry="true", retry_after="0")
    outcome = ask(claude_at(server.url))
    assert (outcome.kind, outcome.reason, outcome.paid) == (kind, reason, kind == "unknown")
    assert (server.connections, len(server.requests)) == (1, 1)


@pytest.mark.parametrize("status", [status for status, _, _ in STATUSES])
def test_a_status_with_somebody_elses_body(server: ModelServer, claude_at: Callable[..., Claude], status: int) -> None:
    server.behaviour = answer(b"<html>gateway</html>", status, "text/html")
    assert ask(claude_at(server.url)).reason == "llm_error_outcome_unknown"
    assert (server.connections, len(server.requests)) == (1, 1)


def test_retry_after_is_kept(server: ModelServer, claude_at: Callable[..., Claude]) -> None:
    server.behaviour = answer(error("rate_limit_error"), 429, retry_after="17")
    assert ask(claude_at(server.url)).retry_after_s == 17


@pytest.mark.parametrize("behaviour", [say_nothing, trickle])
def test_the_deadline_is_total(server: ModelServer, claude_at: Callable[..., Claude], behaviour: Behaviour) -> None:
    server.behaviour = behaviour
    started = time.monotonic()
    outcome = ask(claude_at(server.url, DEADLINE_S))
    assert (outcome.kind, outcome.reason) == ("unknown", "llm_timeout_outcome_unknown")
    assert DEADLINE_S * 0.9 < time.monotonic() - started < DEADLINE_S + 8
    assert (server.connections, len(server.requests)) == (1, 1)


def test_a_refused_connection_was_certainly_not_sent(claude_at: Callable[..., Claude]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        url = f"http://127.0.0.1:{closed.getsockname()[1]}"
    outcome = ask(claude_at(url))
    assert (outcome.kind, outcome.reason, outcome.paid) == ("released", "llm_connect_failed", False)


def test_a_connection_that_is_not_accepted_in_time_was_certainly_not_sent(claude_at: Callable[..., Claude]) -> None:
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for filler in (first, second):
            filler.settimeout(0)
            filler.connect_ex(full.getsockname())
        outcome = ask(claude_at(f"http://127.0.0.1:{full.getsockname()[1]}", DEADLINE_S))
    assert (outcome.kind, outcome.reason) == ("released", "llm_connect_failed")


def test_out_of_time_nothing_leaves(server: ModelServer, claude_at: Callable[..., Claude]) -> None:
    outcome = ask(claude_at(server.url), before_send=lambda: False)
    assert (outcome.kind, outcome.reason) == ("released", "out_of_time")
    assert server.connections == 0


def test_the_gate_is_passed_once_and_before_the_connection(
    server: ModelServer, claude_at: Callable[..., Claude]
) -> None:
    seen: list[int] = []

    def before_send() -> bool:
        seen.append(server.connections)
        return True

    ask(claude_at(server.url), before_send)
    assert seen == [0]


def test_every_request_has_a_connection_of_its_own(server: ModelServer, claude_at: Callable[..., Claude]) -> None:
    claude = claude_at(server.url)
    for _ in range(3):
        assert ask(claude).kind == "succeeded"
    assert server.connections == len(server.requests) == 3


def test_threads_wait_side_by_side(server: ModelServer, claude_at: Callable[..., Claude]) -> None:
    together = threading.Barrier(8, timeout=10)

    def behave(exchange: Any) -> None:
        exchange.read()
        together.wait()
        exchange.send(http(200, message()))

    server.behaviour = behave
    claude = claude_at(server.url)
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda _: ask(claude), range(8)))
    assert {outcome.kind for outcome in outcomes} == {"succeeded"}


def test_a_proxy_of_the_environment_is_not_used(
    server: ModelServer, claude_at: Callable[..., Claude], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert ask(claude_at(server.url)).kind == "succeeded"


def test_a_key_of_the_environment_is_not_used(
    server: ModelServer, claude_at: Callable[..., Claude], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another")
    ask(claude_at(server.url))
    assert "bearer key-1" in server.requests[0][0].lower()


def test_a_refused_key_is_forgotten_and_no_other(
    server: ModelServer, claude_at: Callable[..., Claude], key: FakeKey
) -> None:
    claude = claude_at(server.url)
    for status in (529, 403, 401):
        server.behaviour = answer(error(), status)
        ask(claude)
    assert key.forgotten == ["key-1"]


def test_without_a_key_nothing_is_sent(server: ModelServer, claude_at: Callable[..., Claude], key: FakeKey) -> None:
    key.key = ""
    with pytest.raises(KeyUnavailableError):
        claude_at(server.url).ask(TASK.request(RENDERED), lambda: True)
    assert server.connections == 0


@pytest.mark.parametrize("url", ["127.0.0.1:80", "ftp://x", "https://", "model"])
def test_a_base_url_that_no_request_can_go_to_is_refused_at_once(url: str, key: FakeKey) -> None:
    with pytest.raises(SettingsError, match="give an http or https address"):
        AnthropicProvider(key, url)  # type: ignore[arg-type]


def test_no_row_text_is_logged_at_any_level(
    server: ModelServer, claude_at: Callable[..., Claude], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    claude = claude_at(server.url, DEADLINE_S)
    for behaviour in (answer(message()), answer(error(), 400), drop_after_reading, say_nothing):
        server.behaviour = behaviour
        ask(claude)
    assert "canary" not in caplog.text.lower()
    assert "key-1" not in caplog.text


# --- Amazon Bedrock ----------------------------------------------------------------------------------------------


@pytest.fixture
def bedrock(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Claude]:
    monkeypatch.setenv("ANTHROPIC_BEDROCK_BASE_URL", server.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    claude = Claude(BedrockProvider("eu-west-1"), deadline_s=10.0)
    yield claude
    claude.close()


def test_bedrock_gets_its_own_parameters_and_its_answer_is_read(server: ModelServer, bedrock: Claude) -> None:
    content = [{"type": "tool_use", "id": "toolu_1", "name": "answer", "input": {"label": "cold"}}]
    server.behaviour = answer(message(content=content, stop_reason="tool_use"), **{"x-amzn-requestid": "bedrock-1"})
    outcome = ask(bedrock)
    assert (outcome.kind, outcome.result["label"], outcome.audit["request_id"]) == ("succeeded", "cold", "bedrock-1")
    head, body = server.requests[0]
    assert head.startswith("POST /model/anthropic.claude-haiku-5-5/invoke HTTP/1.1")
    assert "aws4-hmac-sha256" in head.lower()
    assert "output_config" not in body
    assert body["tools"][0]["input_schema"] == TASK.output_schema
    assert body["tool_choice"]["name"] == body["tools"][0]["name"]
    assert body["messages"] == TASK.request(RENDERED)["messages"]


@pytest.mark.parametrize(
    ("status", "name", "reason"),
    [
        (429, "ThrottlingException", "llm_rate_limited"),
        (403, "AccessDeniedException", "llm_permission_denied"),
        (400, "ValidationException", "llm_bad_request"),
        (400, "ServiceQuotaExceededException", "llm_usage_limit"),
        (503, "ServiceUnavailableException", "llm_unavailable"),
        (500, "InternalServerException", "llm_error_outcome_unknown"),
        (424, "ModelErrorException", "llm_error_outcome_unknown"),
    ],
)
def test_bedrocks_errors(server: ModelServer, bedrock: Claude, status: int, name: str, reason: str) -> None:
    server.behaviour = answer(json.dumps({"message": "no"}).encode(), status, **{"x-amzn-errortype": name})
    assert ask(bedrock).reason == reason
    assert len(server.requests) == 1


def test_anthropics_body_is_not_taken_for_bedrocks(server: ModelServer, bedrock: Claude) -> None:
    server.behaviour = answer(error("overloaded_error"), 529)
    assert ask(bedrock).kind == "unknown"


@pytest.mark.parametrize(
    ("model", "there"),
    [
        ("claude-haiku-5-5", "anthropic.claude-haiku-5-5"),
        ("us.anthropic.claude-haiku-5-5", "us.anthropic.claude-haiku-5-5"),
    ],
)
def test_bedrocks_model_ids(model: str, there: str) -> None:
    assert bedrock_model(model) == there


def test_a_defect_before_the_send_is_raised_and_marks_nothing(
    claude_at: Callable[..., Claude], server: ModelServer
) -> None:
    marked: list[bool] = []
    with pytest.raises(TypeError):
        claude_at(server.url).ask({"no_such_parameter": 1}, lambda: not marked.append(True))
    assert (marked, server.connections) == ([], 0)


def test_a_timeout_before_the_send_was_certainly_not_sent(server: ModelServer, key: FakeKey) -> None:
    class Slow(AnthropicProvider):
        def client(self, http: httpx2.AsyncClient) -> Any:
            return SlowClient()

    claude = Claude(Slow(key, server.url), deadline_s=0.1)  # type: ignore[arg-type]
    reply = claude.ask(TASK.request(RENDERED), lambda: True)
    claude.close()
    assert reply == NoAnswer("not_connected")


class SlowClient:
    """Never gets as far as the HTTP client."""

    @property
    def messages(self) -> Any:
        return self

    @property
    def with_raw_response(self) -> Any:
        return self

    async def create(self, **arguments: Any) -> Answer:
        await asyncio.Event().wait()
        raise AssertionError
