"""Admission on moto: a version becomes an upload, joins one, or is refused, once, whatever is delivered again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from functions.classify.prices import worst_case_microusd
from functions.classify.task import Task
from functions.crash_points import Killed, armed, kill_at
from functions.effects.outcomes import Outcome
from functions.effects.record import EffectRecord
from functions.effects.states import State
from functions.uploads.keys import record_id, upload_id
from functions.uploads.model import Counts
from tests.unit.intake_world import BUCKET, HEADER, World, created, csv, world

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


def test_a_file_becomes_an_upload_with_its_report_and_is_open(w: World) -> None:
    upload = w.submit(MIXED)
    assert upload.counts == Counts(records=6, valid=2, rejected=2, duplicates=1, blank=1, known=0)
    assert (upload.state, upload.encoding, upload.encoding_guessed, upload.delimiter) == (
        "running",
        "utf-8",
        False,
        ",",
    )
    assert (upload.header, upload.bytes) == (("email", "name", "company"), len(MIXED))
    assert upload.upload_id == upload_id(upload.sha256, upload.prompt_version)
    assert (upload.bucket, upload.object_key) == (BUCKET, "uploads/leads.csv")
    assert upload.limits["max_records"] == 1_000_000
    assert [still_open.upload_id for still_open in w.table.open_uploads()] == [upload.upload_id]


def test_the_worst_case_is_the_price_of_every_attempt_left_for_every_row(w: World) -> None:
    event = w.put(csv(3))
    w.deliver(event, w.deployed(max_paid_attempts=2))
    upload = w.upload_of(event)
    task = Task.from_json(upload.task)
    rows = [d["data"]["fields"] for d in w.bus.details.values()]
    assert upload.worst_case_microusd == 2 * sum(worst_case_microusd(task, fields) for fields in rows) > 0


def test_the_object_says_which_upload_it_made(w: World) -> None:
    event = w.put(csv(1))
    w.deliver(event)
    found = w.object_of(event)
    assert (found.upload_id, found.first, found.attempts, found.refusal) == (
        w.upload_of(event).upload_id,
        True,
        1,
        None,
    )


def test_a_later_repeat_of_the_event_reads_and_writes_nothing(w: World) -> None:
    event = w.put(csv(3))
    w.deliver(event)
    before, calls = w.everything(), w.bus.calls
    w.calls.clear()
    w.now += 300
    w.deliver(event)
    w.deliver(event, w.deployed(max_tokens=99))
    assert w.everything() == before
    assert w.bus.calls == calls
    assert w.calls["GetObject"] == 0


def test_the_same_bytes_under_another_name_join_the_upload_and_nothing_is_published_again(w: World) -> None:
    upload = w.submit(csv(3))
    event = w.put(csv(3), "uploads/copy.csv")
    w.deliver(event)
    found = w.object_of(event)
    assert (found.upload_id, found.first) == (upload.upload_id, False)
    assert (
        w.upload(upload.upload_id)
        == w.upload_of(event)
        == upload.model_copy(update={"checkpoint": 3, "published": True, "publisher_until": 0})
    )
    assert set(w.bus.sent.values()) == {1}


def test_the_same_bytes_while_their_publisher_is_alive_do_not_start_another(w: World) -> None:
    first, again = w.put(csv(3)), w.put(csv(3), "uploads/copy.csv")
    with armed(kill_at("events.put_events.before")), pytest.raises(Killed):
        w.deliver(first)
    w.deliver(again)
    assert w.bus.calls == 0
    w.now += 902
    w.deliver(w.put(csv(3), "uploads/third.csv"))
    assert w.bus.rows == [1, 2, 3]


def test_the_same_bytes_under_another_prompt_are_another_upload(w: World) -> None:
    first = w.submit(csv(2))
    event = w.put(csv(2), "uploads/copy.csv")
    w.deliver(event, w.deployed(max_tokens=99))
    assert w.upload_of(event).upload_id != first.upload_id
    assert len(w.bus.sent) == 4


def test_each_version_of_a_key_is_an_upload_of_its_own_bytes(w: World) -> None:
    older, newer = w.put(csv(2)), w.put(csv(5))
    w.deliver(newer)
    w.deliver(older)
    assert w.upload_of(older).counts.records == 2
    assert w.upload_of(newer).counts.records == 5


def test_a_file_that_is_not_utf8_is_read_again_as_a_declared_guess(w: World) -> None:
    body = (HEADER + "jose@example.com,José Ibáñez,Peña\n").encode("cp1252")
    upload = w.submit(body)
    assert (upload.encoding, upload.encoding_guessed, upload.counts.valid) == ("cp1252", True, 1)
    assert upload.bytes == len(body)
    [detail] = w.bus.details.values()
    assert detail["data"]["fields"]["name"] == "José Ibáñez"


def test_a_byte_that_is_not_utf8_late_in_the_file_changes_neither_counts_nor_digest(w: World) -> None:
    body = csv(250) + "x@example.com,Zoë,Z\n".encode("cp1252")
    upload = w.submit(body)
    assert upload.counts == Counts(records=251, valid=251)
    assert w.bus.rows == list(range(1, 252))
    assert upload.sha256 == hashlib.sha256(body).hexdigest()


def test_utf16_and_semicolons_are_kept_for_later_passes(w: World) -> None:
    upload = w.submit("email;name\nz@example.com;Zoë\n".encode("utf-16"))
    assert (upload.encoding, upload.delimiter) == ("utf-16-le", ";")
    assert w.bus.rows == [1]


# --- what is known -------------------------------------------------------------------------------------------------

DONE = Outcome(kind="succeeded", paid=True, result={"label": "hot", "cost_microusd": 40}, audit={"model": "m"})
GIVEN_UP = Outcome.failed("llm_overloaded", paid=False, retryable=True)
DOUBT = Outcome.unknown("llm_timeout_outcome_unknown")


def test_known_rows_are_counted_and_cost_nothing(w: World) -> None:
    first = w.put(csv(4))
    w.deliver(first)
    ids = effect_ids(w, first)
    w.store(ids[0], DONE, paid_attempts=1)
    w.store(ids[1], GIVEN_UP)
    w.store(ids[2], DOUBT, State.UNKNOWN, paid_attempts=1)
    w.store(ids[3], None, State.RELEASED)
    corrected = w.submit(csv(4, header="E-Mail,Full Name,Company\n"), "uploads/corrected.csv")
    assert corrected.counts == Counts(records=4, valid=4, known=3)
    task = Task.from_json(corrected.task)
    left = {"email": "p4@example.com", "name": "Person 4", "company": "Firm 4"}
    assert corrected.worst_case_microusd == worst_case_microusd(task, left)


@pytest.mark.parametrize(("paid", "ordered", "attempts_left"), [(0, 0, 2), (1, 0, 1), (1, 1, 2), (2, 1, 1)])
def test_a_doubtful_row_is_priced_by_the_attempts_it_has_left(
    w: World, paid: int, ordered: int, attempts_left: int
) -> None:
    first = w.put(csv(1))
    w.deliver(first)
    [effect_id] = effect_ids(w, first)
    w.store(effect_id, DOUBT, State.UNKNOWN, paid_attempts=paid, ordered_attempts=ordered)
    event = w.put(csv(1, header="E-Mail,Name,Company\n"))
    w.deliver(event, w.deployed(max_paid_attempts=2))
    upload = w.upload_of(event)
    assert upload.counts.known == 0
    fields = {"email": "p1@example.com", "name": "Person 1", "company": "Firm 1"}
    assert upload.worst_case_microusd == attempts_left * worst_case_microusd(Task.from_json(upload.task), fields)


def test_keys_are_looked_up_a_hundred_at_a_time_and_each_once(w: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def read_many(ids: Sequence[str]) -> Mapping[str, EffectRecord]:
        asked.append(list(ids))
        return {}

    monkeypatch.setattr(w.intake.admission._examiner, "_read_many", read_many)
    w.submit(csv(250))
    assert [len(ids) for ids in asked] == [100, 100, 50]
    assert len({name for ids in asked for name in ids}) == 250


def test_rows_of_which_nothing_would_be_shown_are_valid_and_free(w: World) -> None:
    event = w.put(b"email,name,company\na@example.com,Ann,\nb@example.com,Bob,B\n")
    w.deliver(event, w.deployed(rendered_columns=("company",)))
    upload = w.upload_of(event)
    assert upload.counts == Counts(records=2, valid=2)
    assert upload.worst_case_microusd == worst_case_microusd(Task.from_json(upload.task), {"company": "B"})


# --- events that start nothing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "event",
    [
        created("uploads/2026/", 0, "v"),
        created("uploads/.keep", 0, "v"),
        created("results/u-1.csv", 9, "v"),
        created("uploads/leads.csv", 9, "v", bucket="another"),
        {"Records": []},
        {"continue_upload": 7},
        {"continue_upload": "u-none"},
        {},
    ],
)
def test_what_is_no_upload_leaves_no_trace(w: World, event: dict[str, Any]) -> None:
    w.deliver(event)
    assert w.everything() == []
    assert (w.bus.calls, w.topic.messages) == (0, [])


def test_an_event_without_a_version_means_the_current_one(w: World) -> None:
    event = w.put(csv(2))
    unversioned = json.loads(json.dumps(event))
    del unversioned["detail"]["object"]["version-id"]
    w.deliver(unversioned)
    assert w.upload_of(event).counts.valid == 2


@pytest.mark.parametrize("key", ["uploads/2026/", "uploads/.keep"])
def test_a_marker_is_passed_over_though_the_event_leaves_its_size_out(w: World, key: str) -> None:
    event = w.put(b"", key)
    del event["detail"]["object"]["size"]
    w.deliver(event)
    assert w.everything() == []
