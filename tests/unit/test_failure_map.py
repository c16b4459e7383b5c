"""The failure map of a row: whatever the model answers, who tries again, where the row ends, and which alarm tells it.

The lines that are not a row's (files, targets, queues that cannot be written) have their tests in test_intake_refusing,
test_finish_notices and tests/local (test_delivery, test_bus, test_repairs); their alarms are in tests/stacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aws_lambda_powertools import Logger, Metrics

from functions.classify.billing import Answer, NoAnswer
from functions.classify.report import METRIC_OF, Report
from functions.classify.results import Result
from functions.uploads.keys import record_id
from tests.unit.classify_world import MAX_RECEIVES, TASK, Aws, World, aws_on_moto, event, fields, refused, said

ALARMS = (Path(__file__).parents[2] / "docs" / "alarms.md").read_text()
SOMEBODY_ELSES = Answer(502, b"<html>", "")


@dataclass(frozen=True)
class Line:
    """How a row ends whose every delivery meets `replies`, the last of them for ever.

    `ends`: outcome and reason of its item; empty where it stays open. `requests`: how many were sent in MAX_RECEIVES
    deliveries. `letter`: the worker's own dead letter; `redriven`: the last delivery is left to the queue's redrive.
    """

    ends: str
    requests: int
    alarm: str
    letter: bool = False
    redriven: bool = False
    paused: bool = False
    retryable: bool = False


def final(reason: str) -> Line:
    return Line(f"failed {reason}", 1, "classify-dlq-depth", letter=True)


def paused(*, requests: int = 1) -> Line:
    return Line("", requests, "classify-model-refusals", paused=True)


def released(reason: str) -> Line:
    return Line(f"failed {reason}", MAX_RECEIVES, "classify-rows-given-up", redriven=True, retryable=True)


def unknown(reason: str) -> Line:
    return Line(f"unknown {reason}_outcome_unknown", 1, "classify-rows-unknown")


MAP: dict[str, tuple[Any, Line]] = {
    "400": (refused(400), final("llm_bad_request")),
    "413": (refused(413), final("llm_bad_request")),
    "422": (refused(422), final("llm_bad_request")),
    "refusal": (said("", stop_reason="refusal"), final("llm_refused")),
    "max_tokens": (said("hot", stop_reason="max_tokens"), final("llm_truncated")),
    "no-label": (said("perhaps"), final("invalid_label")),
    "unreadable-200": (Answer(200, b"\xff", "r"), final("unreadable_answer")),
    "401": (refused(401), paused()),
    "402": (refused(402), paused()),
    "403": (refused(403), paused()),
    "404": (refused(404), paused()),
    "spend-limit": (refused(429, "enforced_spend_limit_reached"), paused()),
    "429": (refused(429), released("llm_rate_limited")),
    "503": (refused(503), released("llm_unavailable")),
    "529": (refused(529), released("llm_overloaded")),
    "no-connection": (NoAnswer("not_connected"), released("llm_connect_failed")),
    "500": (refused(500), unknown("llm_error")),
    "somebody-elses-502": (SOMEBODY_ELSES, unknown("llm_error")),
    "no-answer-in-time": (NoAnswer("timed_out"), unknown("llm_timeout")),
    "connection-lost": (NoAnswer("connection_lost"), unknown("llm_connection_lost")),
}


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    with aws_on_moto() as opened:
        yield opened


@pytest.fixture
def world(aws: Aws) -> World:
    return World(aws)


def deliver(world: World) -> list[Result]:
    """As often as the queue does, until the message is acknowledged."""
    results: list[Result] = []
    for receives in range(1, MAX_RECEIVES + 1):
        results += world.deliver(event(), receives=receives)
        if results[-1].acknowledged:
            break
    return results


def counted(results: list[Result], capsys: pytest.CaptureFixture[str]) -> str:
    metrics = Metrics(service="classify", namespace="Trial")
    Report(Logger(service="classify-map"), metrics).publish(results, "r-1")
    metrics.flush_metrics()
    return capsys.readouterr().out


@pytest.mark.parametrize(("reply", "line"), MAP.values(), ids=MAP.keys())
def test_a_row_ends_where_the_map_says(
    world: World, capsys: pytest.CaptureFixture[str], reply: Any, line: Line
) -> None:
    world.reply = lambda request: reply
    results = deliver(world)
    row, letters = world.row(), world.dead_letters()
    assert (f"{row.outcome} {row.reason}" if row else "") == line.ends
    assert len(world.requests) == line.requests
    assert results[-1].acknowledged is not line.redriven
    assert [attributes["reason"] for _, attributes in letters] == ([line.ends.split()[1]] if line.letter else [])
    assert (world.upload().state == "paused", bool(world.told())) == (line.paused, line.paused)
    assert (row.retryable if row else False) is line.retryable
    assert f"| {line.alarm} |" in ALARMS
    out = counted(results, capsys)
    metric = "ModelRefusals" if line.paused else METRIC_OF[results[-1].ending]
    assert f'"{metric}":[1' in out.replace(" ", "")


def test_a_key_that_is_stored_with_other_fields_ends_as_a_final_failure_without_a_request(world: World) -> None:
    stored = {"id": record_id(TASK.name, TASK.key(fields())), "state": "RELEASED", "attempt": 1, "payload_hash": "x"}
    world.idempotency.put_item(Item=stored)
    [result] = deliver(world)
    row = world.row()
    assert row is not None
    assert (row.outcome, row.reason, result.acknowledged) == ("failed", "key_conflict", True)
    assert [attributes["reason"] for _, attributes in world.dead_letters()] == ["key_conflict"]
    assert world.requests == []


@pytest.mark.parametrize(("sent", "ends"), [(False, "failed handler_error"), (True, "unknown handler_error_outcome_")])
def test_a_bug_is_tried_again_by_the_queue_and_its_claim_decides(world: World, sent: bool, ends: str) -> None:
    def bug(request: Any, before_send: Any) -> Any:
        if sent:
            before_send()
        raise ZeroDivisionError

    world.ask = bug  # type: ignore[method-assign]
    world.worker = world._worker()
    results = deliver(world)
    row = world.row()
    assert row is not None
    assert f"{row.outcome} {row.reason}".startswith(ends)
    assert len(results) == (1 if sent else MAX_RECEIVES)
    assert results[-1].error is not None
    assert results[-1].error["error"] == "ZeroDivisionError"
    for alarm in ("classify-errors", "classify-row-errors"):
        assert f"| {alarm} |" in ALARMS
