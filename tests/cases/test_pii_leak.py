"""pii-leak: canaries in rows, headers and file names, and failures whose own texts repeat them, at every outside call.

Each handler fails once at every point that it reaches, with an error that a service or a library might have made of
the row. Neither its log nor what Lambda would log of the exception may hold a canary.
"""

from __future__ import annotations

import io
import traceback
from collections.abc import Callable, Iterator

import boto3
import pytest
from aws_lambda_powertools import Logger, Metrics
from botocore.exceptions import ClientError

from functions.classify.billing import Answer
from functions.classify.report import Report
from functions.crash_points import armed
from functions.failures import without_texts
from functions.finish import handler as finish
from functions.finish import tick
from functions.intake import handler as intake
from tests.unit.classify_world import said
from tests.unit.intake_world import BUCKET, BUS, TOPIC
from tests.unit.operate_world import Service, service

ROW = "zilpha-canary"
FILE = "quillon-canary"
CANARIES = (ROW, ROW.upper(), FILE)
BODY = (
    f"email,name,company,notes,{ROW}-header\n"
    f"{ROW}@example.com,{ROW} Ames,{ROW} Works,note of {ROW},{ROW}-cell\n"
    f"{ROW.upper()}@EXAMPLE.COM,{ROW} again,,,\n"
    f"{ROW}-no-address,{ROW} Bell,,,\n"
    f"other@example.com,{ROW} Cole,,{ROW},\n"
).encode()
NAME = f"uploads/{FILE} list.csv"


class Context:
    function_name = "f"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:eu-west-1:1:function:f"
    aws_request_id = "r-1"

    def get_remaining_time_in_millis(self) -> int:
        return 900_000


class FailsOnceEverywhere:
    """A hook: the first arrival at each point raises an error full of canaries; two kinds of error take turns."""

    def __init__(self) -> None:
        self.points: list[str] = []

    def __call__(self, point: str) -> None:
        if point in self.points:
            return
        self.points.append(point)
        text = f"wrong value {ROW}@example.com in {NAME}"
        if len(self.points) % 2:
            raise ClientError({"Error": {"Code": "ValidationException", "Message": text}}, "Operation")
        raise TypeError(text)


@pytest.fixture
def w(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with service() as made:
        environment = {
            "UPLOADS_BUCKET": BUCKET,
            "PROSPECTS_TABLE": "prospects",
            "IDEMPOTENCY_TABLE": "idempotency",
            "EVENT_BUS_ARN": BUS,
            "ALERTS_TOPIC_ARN": TOPIC,
            "POWERTOOLS_METRICS_NAMESPACE": "Trial",
            "MAX_INTAKE_ATTEMPTS": "99",
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(boto3, "Session", lambda: made.session)
        monkeypatch.setattr(finish, "_settings", lambda: made._finish_settings)
        monkeypatch.setattr(finish, "_clients", lambda: made._clients)
        intake._intake.cache_clear()
        yield made
        intake._intake.cache_clear()


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What the loggers write."""
    written = io.StringIO()
    for logger in (intake.logger, tick.logger):
        monkeypatch.setattr(logger.handlers[0], "stream", written)
    return written


def until_nothing_fails(call: Callable[[], object], fails: FailsOnceEverywhere) -> str:
    """Call again and again; what Lambda would log of each failure."""
    told = ""
    for _ in range(99):
        before = len(fails.points)
        with armed(fails):
            try:
                call()
            except Exception as error:  # noqa: BLE001 - whatever leaves a handler is logged by Lambda
                told += "".join(traceback.format_exception(error, limit=0))
        if len(fails.points) == before:
            return told
    raise AssertionError("it fails for ever")


def leaks(*texts: str) -> list[str]:
    return [canary for canary in CANARIES for text in texts if canary in text]


def another(n: int) -> bytes:
    """A file like the others, with keys of its own."""
    return BODY.replace(b"note of", f"note {n} of".encode()).replace(b"Cole", f"Cole {n}".encode())


def test_intake_that_fails_anywhere(w: Service, log: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    fails, numbers = FailsOnceEverywhere(), iter(range(999))

    def take_in() -> None:
        event = w.put(another(next(numbers)), NAME)
        intake.handler(event, Context())  # type: ignore[arg-type]

    told = until_nothing_fails(take_in, fails)
    assert len(fails.points) >= 12
    assert told.count("HandlerFailedError: ") >= 12
    assert "ClientError (ValidationException) at " in told
    assert leaks(told, log.getvalue(), capsys.readouterr().out) == []


def test_finish_that_fails_anywhere(w: Service, log: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    upload, fails = w.submit(BODY, NAME), FailsOnceEverywhere()
    w.classify()

    def look() -> None:
        # As if the time had come: a look that failed is due again when its claim is over. Past the crash points, which
        # are for what the handler does.
        aws, name = w.table._client, w.table._name
        opened = aws.query(
            TableName=name, KeyConditionExpression="pk = :open", ExpressionAttributeValues={":open": "OPEN"}
        )
        for item in opened["Items"]:
            aws.update_item(
                TableName=name,
                Key={"pk": item["pk"], "sk": item["sk"]},
                UpdateExpression="SET next_look_at = :now",
                ExpressionAttributeValues={":now": 0},
            )
        finish.handler({}, Context())  # type: ignore[arg-type]

    told = until_nothing_fails(look, fails)
    assert w.upload(upload.upload_id).state == "done"
    assert len(fails.points) > 10
    assert '"a look failed"' in log.getvalue()
    assert '"code":"ValidationException"' in log.getvalue()
    assert leaks(told, log.getvalue(), capsys.readouterr().out) == []
    assert [canary for canary in (ROW, ROW.upper()) for text in w.topic.messages if canary in text] == []
    assert w.topic.messages, "somebody was told of the end"


def test_classify_that_fails_anywhere(w: Service, capsys: pytest.CaptureFixture[str]) -> None:
    written, fails = io.StringIO(), FailsOnceEverywhere()
    report = Report(Logger(service="classify-canary", stream=written), Metrics(service="classify", namespace="Trial"))
    replies: list[Answer] = [said(f"a lead like {ROW}"), Answer(200, ROW.encode(), request_id="req_3")]
    w.reply = lambda request: replies[len(w.asked) % 2]
    numbers = iter(range(999))

    def a_file_with_rows_of_its_own() -> None:
        n = next(numbers)
        with armed(lambda _: None):
            w.submit(another(n), NAME)
        with armed(fails):
            report.publish(w.classify(), "r-1")

    told = until_nothing_fails(a_file_with_rows_of_its_own, fails)
    assert len(fails.points) > 8
    assert '"reason":"handler_error"' in written.getvalue()
    assert leaks(told, written.getvalue(), capsys.readouterr().out, *w.queues.dead) == []


def test_a_failure_of_our_own_keeps_its_sentence_and_any_other_says_where_it_was() -> None:
    @without_texts
    def ours() -> None:
        from functions.intake.source import SourceError

        raise SourceError("AccessDenied")

    @without_texts
    def theirs() -> None:
        raise KeyError(ROW)

    with pytest.raises(Exception, match="the uploaded object could not be read: AccessDenied"):
        ours()
    with pytest.raises(Exception, match=r"^KeyError at ") as caught:
        theirs()
    assert caught.value.__cause__ is caught.value.__context__ is None
