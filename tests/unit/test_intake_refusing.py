"""Files that are refused, and attempts that fail: settled, told once, nothing published."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from functions.classify.task import Task
from functions.crash_points import Killed, armed, kill_at
from functions.intake.notices import NoticeError
from functions.uploads.keys import record_id
from tests.unit.intake_world import BUCKET, HEADER, REMAINING_S, World, client_error, csv, world

MIXED = (
    HEADER + "a@example.com,Ann,A\nnot-an-email,Bob,B\n,,\nA@EXAMPLE.COM,Ann,A\nc@example.com,Cy\nd@example.com,Di,D\n"
).encode()


@pytest.fixture
def w() -> Iterator[World]:
    with world() as made:
        yield made


def effect_ids(w: World, event: Mapping[str, Any]) -> list[str]:
    """Where the answers of an upload's rows would be stored, in row order."""
    task = Task.from_json(w.upload_of(event).task)
    details = sorted((d["data"] for d in w.bus.details.values()), key=lambda data: data["row_number"])
    return [record_id(task.name, data["key"]) for data in details]


# --- refusals ------------------------------------------------------------------------------------------------------

REFUSED = [
    ("empty_file", b""),
    ("not_csv", b"PK\x03\x04xl/workbook"),
    ("not_csv", gzip.compress(b"email,name\n", mtime=0)),
    ("not_csv", b"%PDF-1.7"),
    ("unsupported_encoding", "email,name\na@example.com,A\n".encode("utf-16-le")),
    ("duplicate_header", b"email,name,Email\na@example.com,A,b@example.com\n"),
    ("missing_columns", b"company,title\nA,B\n"),
    ("no_data_rows", HEADER.encode()),
    ("no_data_rows", (HEADER + ",,\n").encode()),
]


@pytest.mark.parametrize(("code", "body"), REFUSED, ids=range(len(REFUSED)))
def test_a_refused_file_is_settled_and_told_once_and_publishes_nothing(w: World, code: str, body: bytes) -> None:
    event = w.put(body)
    w.deliver(event)
    found = w.object_of(event)
    assert (found.refusal, found.upload_id, found.attempts) == (code, None, 1)
    assert found.sentence
    assert found.sentence.endswith(".")
    [message] = w.topic.messages
    assert found.sentence in message
    assert "uploads/leads.csv" in message
    w.deliver(event)
    assert len(w.topic.messages) == 1
    assert w.bus.calls == 0
    assert [item["pk"] for item in w.everything()] == ["OBJECT#uploads/leads.csv"]


@pytest.mark.parametrize(
    ("code", "limit"), [("too_many_records", {"max_records": 2}), ("file_too_large", {"max_file_bytes": 60})]
)
def test_a_file_over_a_limit_is_refused_up_front(w: World, code: str, limit: dict[str, int]) -> None:
    event = w.put(csv(3))
    w.deliver(event, w.deployed(**limit))
    assert w.object_of(event).refusal == code
    assert w.bus.calls == 0
    assert code != "file_too_large" or w.calls["GetObject"] == 0


def test_a_file_that_was_deleted_meanwhile_is_refused(w: World) -> None:
    event = w.put(csv(1))
    w.s3.delete_object(Bucket=BUCKET, Key="uploads/leads.csv", VersionId=event["detail"]["object"]["version-id"])
    w.deliver(event)
    assert w.object_of(event).refusal == "object_gone"
    assert len(w.topic.messages) == 1


def test_a_delete_marker_does_not_hide_the_version_that_was_uploaded(w: World) -> None:
    event = w.put(csv(1))
    w.s3.delete_object(Bucket=BUCKET, Key="uploads/leads.csv")
    w.deliver(event)
    assert w.upload_of(event).counts.valid == 1


def test_a_topic_that_takes_no_notice_is_reported_but_the_refusal_stands(w: World) -> None:
    w.topic.failure = client_error("AuthorizationError", "canary")
    event = w.put(b"")
    with pytest.raises(NoticeError, match="AuthorizationError") as caught:
        w.deliver(event)
    assert "canary" not in str(caught.value)
    assert w.object_of(event).refusal == "empty_file"
    w.deliver(event)


@pytest.mark.parametrize(
    "point",
    ["intake.notice.before", "intake.notice.after", "uploads.refuse_object.before", "uploads.refuse_object.after"],
)
def test_a_refusal_that_was_cut_off_is_told_at_least_once(w: World, point: str) -> None:
    event = w.put(b"")
    with armed(kill_at(point)), pytest.raises(Killed):
        w.deliver(event)
    w.deliver(event)
    assert w.object_of(event).refusal == "empty_file"
    assert len(w.topic.messages) in (1, 2)


# --- attempts ------------------------------------------------------------------------------------------------------


def failing(w: World, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """S3 fails while the list is not empty."""
    broken = [True]
    real = w.intake.source._s3

    class Flaky:
        def __getattr__(self, name: str) -> Any:
            if broken and name == "get_object":
                raise client_error("InternalError")
            return getattr(real, name)

    monkeypatch.setattr(w.intake.source, "_s3", Flaky())
    return broken


def test_an_attempt_that_fails_is_left_to_be_repeated(w: World, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = failing(w, monkeypatch)
    event = w.put(csv(2))
    for attempt in (1, 2):
        with pytest.raises(Exception, match="InternalError"):
            w.deliver(event)
        assert w.object_of(event).attempts == attempt
        assert not w.object_of(event).settled
    broken.clear()
    w.deliver(event)
    assert w.upload_of(event).counts.valid == 2
    assert w.topic.messages == []


def test_the_last_allowed_attempt_settles_the_version_and_still_raises(
    w: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = failing(w, monkeypatch)
    event = w.put(csv(2))
    for _ in range(3):
        with pytest.raises(Exception, match="InternalError"):
            w.deliver(event)
    assert w.object_of(event).refusal == "intake_failed"
    assert len(w.topic.messages) == 1
    broken.clear()
    w.deliver(event)
    assert w.object_of(event).refusal == "intake_failed"
    assert (w.bus.calls, len(w.topic.messages)) == (0, 1)


def test_a_version_whose_every_attempt_was_killed_is_settled_by_the_next_event(w: World) -> None:
    event = w.put(csv(2))
    for _ in range(3):
        with armed(kill_at("intake.source_open.before")), pytest.raises(Killed):
            w.deliver(event)
    w.now += REMAINING_S + 1
    w.deliver(event)
    assert w.object_of(event).refusal == "intake_failed"
    assert (w.bus.calls, len(w.topic.messages)) == (0, 1)


def test_a_duplicate_beside_a_living_last_attempt_refuses_nothing(w: World) -> None:
    event = w.put(csv(2))
    for _ in range(2):
        with armed(kill_at("intake.source_open.before")), pytest.raises(Killed):
            w.deliver(event)

    def duplicate(point: str) -> None:
        if point == "uploads.admit.before" and not w.object_of(event).settled:
            w.deliver(event)
            assert w.object_of(event).refusal is None

    with armed(duplicate):
        w.deliver(event)
    assert w.upload_of(event).state == "running"
    assert w.bus.rows == [1, 2]


def test_an_attempt_whose_admission_succeeded_is_not_refused_for_what_failed_later(w: World) -> None:
    w.bus.refuse = lambda _number: client_error("AccessDeniedException")
    event = w.put(csv(2))
    with pytest.raises(Exception, match="AccessDeniedException"):
        w.deliver(event, w.deployed(max_intake_attempts=1))
    assert w.object_of(event).refusal is None
    assert w.upload_of(event).state == "running"


def test_an_attempt_finds_that_another_one_refused_meanwhile(w: World) -> None:
    event = w.put(csv(2))
    found = event["detail"]["object"]

    def refuse_between(point: str) -> None:
        if point == "uploads.admit.before":
            w.table.refuse_object(found["key"], found["version-id"], "intake_failed", "It failed.")

    with armed(refuse_between):
        w.deliver(event)
    assert w.object_of(event).upload_id is None
    assert w.bus.calls == 0
