"""The naive workers are compared with ours fairly: they send our request, and both are set to the same."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from aws_lambda_powertools.utilities import parameters

from bench.matrix.contender import Fault
from bench.matrix.faults import faults
from bench.matrix.naive.applies import applies
from bench.matrix.naive.cloud import settings_of
from bench.matrix.naive.template import WORKERS, NaiveStack, Worker, task_of
from functions.classify.claude import AnthropicProvider, Claude
from local.options import LocalCloudOptions
from tests.unit.classify_server import Behaviour, ModelServer, answer, drop_after_reading, error, message

FIELDS = {"email": "a@example.com", "name": "Ann <b>", "notes": "über & out"}
SETTINGS = settings_of(LocalCloudOptions(context={"classify_timeout_s": "30", "model_deadline_s": "7"}))
MODULE = "bench.matrix.naive.worker.model"
Ask = Callable[[Mapping[str, str]], str]


class Key:
    def get(self) -> str:
        return "key"

    def forget(self, key: str) -> None:
        raise AssertionError("the key was refused")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer().running() as running:
        yield running


@pytest.fixture
def ask(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    """The naive workers' call, as the deployed environment sets it up."""
    environment = NaiveStack("bare", SETTINGS, "", "").template()["Resources"]["Function"]["Properties"]["Environment"]
    for name in ("TASK", "MODEL_DEADLINE_S", "ANTHROPIC_SECRET_ID"):
        monkeypatch.setenv(name, environment["Variables"][name])
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    monkeypatch.setattr(parameters, "get_secret", lambda name: f"the key in {name}")
    # Its client backs off as it comes; how long is not what is tested here.
    monkeypatch.setattr("anthropic._base_client.SyncAPIClient._sleep_for_retry", lambda *args, **kwargs: None)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    module = __import__(MODULE, fromlist=["ask"])
    yield module.ask
    module._client.close()
    sys.modules.pop(MODULE, None)


def test_the_naive_workers_send_the_request_that_our_stack_sends_for_the_same_row(
    server: ModelServer, ask: Ask
) -> None:
    task = task_of(SETTINGS)
    ours = Claude(AnthropicProvider(Key(), server.url), deadline_s=5)  # type: ignore[arg-type]
    ours.ask(task.request(task.rendered(FIELDS)), lambda: True)
    ours.close()
    assert ask(task.rendered(FIELDS)) == "hot"
    sent = [body for _, body in server.requests]
    assert len(sent) == 2
    assert sent[0] == sent[1]


@pytest.mark.parametrize(
    ("behaviour", "requests"),
    [
        (answer(error(), 500), 3),
        (answer(error("overloaded_error"), 529), 3),
        (answer(error("rate_limit_error"), 429), 3),
        (drop_after_reading, 3),
        (answer(error("invalid_request_error"), 400), 1),
        (answer(b"<html>", content_type="text/html"), 1),
        (answer(message("no idea")), 1),
    ],
)
def test_the_sdk_asks_again_by_its_defaults_and_whatever_is_no_label_is_an_error(
    server: ModelServer, ask: Ask, behaviour: Behaviour, requests: int
) -> None:
    server.behaviour = behaviour
    with pytest.raises(Exception):  # noqa: B017, PT011 - whatever it is, the row failed
        ask(FIELDS)
    assert len(server.requests) == requests


@pytest.mark.parametrize("worker", WORKERS)
def test_timeouts_visibility_and_rows_in_flight_are_those_of_our_stack(worker: Worker) -> None:
    resources = NaiveStack(worker, SETTINGS, "bucket", "key").template()["Resources"]
    function, queue = resources["Function"]["Properties"], resources["Queue"]["Properties"]
    mapping: dict[str, Any] = resources["Mapping"]["Properties"]
    assert function["Timeout"] == SETTINGS.classify_timeout_s == 30
    assert function["MemorySize"] == SETTINGS.classify_memory_mb
    assert function["Environment"]["Variables"]["MODEL_DEADLINE_S"] == "7.0"
    assert queue["VisibilityTimeout"] == 6 * 30
    in_flight = mapping["BatchSize"] * mapping["ScalingConfig"]["MaximumConcurrency"]
    assert in_flight == SETTINGS.batch_size * SETTINGS.concurrency
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert ("Records" in resources) == (worker == "stock")


def test_a_fault_applies_unless_what_it_hits_is_not_there() -> None:
    def hit(worker: Worker) -> set[str]:
        return {fault.name for fault in faults() if not applies(fault, worker)}

    assert hit("stock") == {"put-events", "dlq-not-writable"}
    assert hit("bare") == hit("stock") | {"saves-throttled", "saves-lost"}


def test_a_fault_without_a_service_always_applies() -> None:
    assert all(applies(Fault("any", "", claude=[{"then": {"status": 500}}]), worker) for worker in WORKERS)
