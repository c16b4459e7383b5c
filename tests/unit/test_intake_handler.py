"""The intake worker as Lambda calls it: its environment, its time, and what it may say in logs and exceptions."""

from __future__ import annotations

import io
import traceback
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from functions.crash_points import armed
from functions.intake import handler as module
from functions.settings import SettingsError
from tests.unit.intake_world import BUCKET, BUS, TOPIC, World, client_error, created, csv, world

NAME = "uploads/canary-file Jane Doe.csv"


class Context:
    function_name = "intake"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:eu-west-1:111122223333:function:intake"
    aws_request_id = "request-1"

    def __init__(self, remaining_ms: int = 900_000) -> None:
        self._remaining_ms = remaining_ms

    def get_remaining_time_in_millis(self) -> int:
        return self._remaining_ms


@pytest.fixture
def w(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with world() as made:
        environment = {
            "UPLOADS_BUCKET": BUCKET,
            "PROSPECTS_TABLE": "prospects",
            "IDEMPOTENCY_TABLE": "idempotency",
            "EVENT_BUS_ARN": BUS,
            "ALERTS_TOPIC_ARN": TOPIC,
            "POWERTOOLS_METRICS_NAMESPACE": "Trial",
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(boto3, "Session", lambda: made.session)
        module._intake.cache_clear()
        yield made
        module._intake.cache_clear()


def call(event: dict[str, Any], remaining_ms: int = 900_000) -> None:
    module.handler(event, Context(remaining_ms))  # type: ignore[arg-type]


def test_an_upload_goes_through_with_what_the_environment_says(w: World) -> None:
    event = w.put(csv(3), NAME)
    call(event)
    assert w.upload_of(event).published
    assert w.bus.rows == [1, 2, 3]


def test_the_time_that_lambda_gives_decides_when_publishing_stops_and_a_second_call_continues(w: World) -> None:
    event = w.put(csv(250))
    call(event, remaining_ms=5_000)
    upload = w.upload_of(event)
    assert (upload.checkpoint, upload.published) == (100, False)
    call({"continue_upload": upload.upload_id})
    assert w.upload_of(event).published
    assert w.bus.rows == list(range(1, 251))


def test_a_missing_variable_is_named(w: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVENT_BUS_ARN")
    with pytest.raises(SettingsError, match="EVENT_BUS_ARN"):
        call({})


CANARIES = ("canary", "Jane", "jane")
BODIES = {
    "accepted": b"email,name,canary-header\njane@canary.example,Jane Canary,canary-cell\ncanary-bad,Jane,\n",
    "guessed": "email,name\njane@canary.example,Jané Canary\n".encode("cp1252"),
    "no header": b"jane@canary.example,Jane Canary\n",
    "duplicate header": b"email,name,canary,Canary\njane@canary.example,Jane,a,b\n",
    "malformed header": b'email,name,"canary\n',
    "empty": b"",
}


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What the logger writes."""
    written = io.StringIO()
    monkeypatch.setattr(module.logger.handlers[0], "stream", written)
    return written


def told(error: BaseException) -> str:
    """An exception's text as Lambda logs it, with those it came from, without the lines of code."""
    return "".join(traceback.format_exception(error, limit=0))


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_no_log_line_names_the_file_or_anything_in_it(w: World, log: io.StringIO, body: bytes) -> None:
    event = w.put(body, NAME)
    call(event)
    call(event)
    call(w.put(body, NAME + ".copy"))
    text = log.getvalue()
    assert text.count('"level"') >= 3
    assert not [word for word in CANARIES if word in text]


@pytest.mark.parametrize(
    "event",
    [
        created("uploads/canary/", 0, "v"),
        created("results/canary.csv", 1, "v"),
        created("uploads/canary.csv", 1, "v", bucket="canary-bucket"),
        created("uploads/canary.csv", 1, None),
        created("uploads/canary.csv", 1, "canary-version"),
        {"Records": [{"s3": {"object": {"key": "canary"}}}]},
        {"canary": "canary"},
    ],
)
def test_no_log_line_repeats_what_an_ignored_event_said(w: World, log: io.StringIO, event: dict[str, Any]) -> None:
    call(event)
    text = log.getvalue()
    assert '"level"' in text
    assert "canary" not in text


@pytest.mark.parametrize(
    "point",
    ["intake.source_open.before", "effects.read_many.after", "uploads.admit.before", "events.put_events.before"],
)
def test_no_exception_on_the_way_names_the_file_or_anything_in_it(w: World, log: io.StringIO, point: str) -> None:
    def fail(reached: str) -> None:
        if reached == point:
            raise client_error("InternalServerError", "failed")

    event = w.put(BODIES["accepted"], NAME)
    with armed(fail), pytest.raises(Exception, match="InternalServerError") as caught:
        call(event)
    assert not [word for word in CANARIES if word in log.getvalue() + told(caught.value)]


def test_a_refusal_that_cannot_be_stored_does_not_put_its_sentence_into_a_traceback(
    w: World, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> bool:
        raise client_error("ProvisionedThroughputExceededException")

    monkeypatch.setattr(module._intake().table, "refuse_object", fail)
    with pytest.raises(Exception, match="Throughput") as caught:
        call(w.put(BODIES["duplicate header"], NAME))
    text = log.getvalue() + told(caught.value)
    assert "header" not in text
    assert not [word for word in CANARIES if word in text]


def test_keys_of_one_event_do_not_stay_for_the_next(w: World, log: io.StringIO) -> None:
    call(w.put(csv(1)))
    log.truncate(0)
    call({})
    assert '"decision"' not in log.getvalue()


def test_each_decision_is_counted_once(w: World, capsys: pytest.CaptureFixture[str]) -> None:
    event = w.put(csv(1))
    call(event)
    call(event)
    call(w.put(b"", "uploads/empty.csv"))
    counted = [line for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
    assert ["UploadsAdmitted" in counted[0], "UploadsRefused" in counted[1], len(counted)] == [True, True, 2]
