"""Publishing on moto: whatever is killed, repeated or run beside, every row without an answer has its event.

Invariants after each run: every valid row is on the bus or has its terminal item; a row has one deduplication id
however often it was sent; checkpoints only moved forward; the upload is published once.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from functions.classify.task import Task
from functions.crash_points import Killed, armed, kill_at
from functions.effects.outcomes import Outcome
from functions.effects.states import State
from functions.events.entries import Entry
from functions.events.publisher import PublishRefused
from functions.uploads.keys import row_event_id, row_origin
from functions.uploads.model import Upload
from tests.unit.intake_world import HEADER, World, client_error, csv, world
from tests.unit.publishing_world import ANSWER, MIXED, assert_all_rows_are_on_their_way, effect_id, finish, left_open


@pytest.fixture
def w() -> Iterator[World]:
    with world() as made:
        yield made


# --- the happy path and what it costs ------------------------------------------------------------------------------


def test_each_row_has_one_event_that_tells_classify_what_to_ask(w: World) -> None:
    upload = w.submit(HEADER.encode() + b"\n,,\nAnn@Example.com, Ann ,Firm\n")
    [(dedup_id, detail)] = w.bus.details.items()
    task = Task.from_json(upload.task)
    fields = {"email": "ann@example.com", "name": "Ann", "company": "Firm"}
    assert detail["data"] == {
        "upload_id": upload.upload_id,
        "row_number": 3,
        "line": 4,
        "key": task.key(fields),
        "fields": fields,
    }
    assert dedup_id == row_event_id(upload.upload_id, 3, 1)
    assert (detail["type"], detail["correlation_id"]) == ("prospect.submitted", upload.upload_id)
    assert (detail["source_agent"], detail["lineage"], detail["hops"]) == ("intake@1", ["intake"], 0)


def test_only_what_the_model_is_shown_travels(w: World) -> None:
    w.submit(b"email,name,phone\na@example.com,Ann,canary-555\n")
    [detail] = w.bus.details.values()
    assert "canary" not in str(detail)


@pytest.mark.parametrize("rows", [1, 99, 100, 101, 250])
def test_a_hundred_rows_cost_one_request_and_one_write(w: World, rows: int) -> None:
    event = w.put(csv(rows))
    w.calls.clear()
    w.deliver(event)
    requests = math.ceil(rows / 100)
    assert w.bus.calls == requests
    # Beside the checkpoints: the object's claim, the admission, and leaving.
    assert w.writes <= requests + 3
    assert w.bus.rows == list(range(1, rows + 1))


def test_known_rows_between_the_others_do_not_split_requests(w: World) -> None:
    upload = left_open(w, csv(250))
    for row in range(2, 101, 2):
        w.store(effect_id(upload, row), ANSWER, paid_attempts=1)
    # Beside the request that was killed, others may have been under way.
    w.bus.calls = 0
    finish(w)
    assert w.bus.calls == 2
    assert len(w.bus.rows) == 200


def test_large_rows_fill_requests_by_bytes_across_batches(w: World) -> None:
    body = "email,name,notes\n" + "".join(f"p{n}@example.com,P,{'x' * 30_000}\n" for n in range(230))
    upload = w.submit(body.encode())
    per_request = 1_032_000 // 30_500
    assert w.bus.calls == math.ceil(230 / per_request)
    assert_all_rows_are_on_their_way(w, upload, list(range(1, 231)))


def test_a_known_row_gets_its_item_from_the_stored_record_for_nothing_and_no_event(w: World) -> None:
    upload = left_open(w, csv(3))
    w.store(effect_id(upload, 2), ANSWER, paid_attempts=1, origin="another-upload/7")
    w.calls.clear()
    finish(w)
    assert w.bus.rows == [1, 3]
    [item] = w.rows(upload.upload_id)
    assert (item.row_number, item.line, item.outcome, item.label) == (2, 3, "classified", "hot")
    assert (item.known, item.cost_microusd, item.model, item.request_id) == (True, 0, "model-1", "req_1")
    assert w.calls["PutItem"] == 1


def test_a_row_that_this_upload_paid_for_meanwhile_is_not_called_known(w: World) -> None:
    upload = left_open(w, csv(1))
    w.store(effect_id(upload, 1), ANSWER, paid_attempts=1, origin=row_origin(upload.upload_id, 1))
    finish(w)
    [item] = w.rows(upload.upload_id)
    assert (item.known, item.cost_microusd) == (False, 40)


@pytest.mark.parametrize(
    ("state", "outcome", "paid", "ends_as"),
    [
        (State.DONE, Outcome.failed("llm_refused", paid=True), 1, "failed"),
        (State.DONE, Outcome.failed("llm_overloaded", paid=False, retryable=True), 0, "failed"),
        (State.UNKNOWN, Outcome.unknown("llm_timeout_outcome_unknown"), 1, "unknown"),
        (State.UNKNOWN, Outcome.unknown("llm_timeout_outcome_unknown"), 0, None),
        (State.RELEASED, Outcome.released("llm_overloaded"), 0, None),
        (State.CLAIMED, None, 0, None),
    ],
)
def test_only_a_final_record_answers_a_row(
    w: World, state: State, outcome: Outcome | None, paid: int, ends_as: str | None
) -> None:
    upload = left_open(w, csv(1))
    w.store(effect_id(upload, 1), outcome, state, paid_attempts=paid)
    finish(w)
    assert [item.outcome for item in w.rows(upload.upload_id)] == ([ends_as] if ends_as else [])
    assert w.bus.rows == ([] if ends_as else [1])


def test_the_item_that_a_row_has_stays(w: World) -> None:
    upload = left_open(w, csv(1))
    w.store(effect_id(upload, 1), ANSWER, paid_attempts=1, origin=row_origin(upload.upload_id, 1))
    finish(w)
    before = w.rows(upload.upload_id)
    w.prospects.update_item(
        Key={"pk": f"{upload.upload_id}#00", "sk": "META"},
        UpdateExpression="SET published = :no, checkpoint = :zero",
        ExpressionAttributeValues={":no": False, ":zero": 0},
    )
    w.store(effect_id(upload, 1), ANSWER.model_copy(update={"result": {"label": "cold"}}), paid_attempts=1)
    finish(w)
    assert w.rows(upload.upload_id) == before


def test_a_file_without_a_row_to_classify_is_an_upload_that_is_published(w: World) -> None:
    upload = w.submit((HEADER + "not-an-address,A,B\n,,\n").encode())
    assert w.upload(upload.upload_id).published
    assert (w.bus.calls, upload.counts.valid) == (0, 0)


def test_a_row_with_nothing_to_show_the_model_fails_for_nothing_and_has_no_event(w: World) -> None:
    event = w.put(b"email,name,company\na@example.com,Ann,\nb@example.com,Bob,B\n")
    w.deliver(event, w.deployed(rendered_columns=("company",)))
    upload = w.upload_of(event)
    [item] = w.rows(upload.upload_id)
    assert (item.row_number, item.outcome, item.reason) == (1, "failed", "nothing_to_classify")
    assert (item.paid, item.retryable, item.cost_microusd) == (False, False, 0)
    assert w.bus.rows == [2]


# --- continuing ----------------------------------------------------------------------------------------------------


def test_out_of_time_it_stops_behind_a_checkpoint_and_the_tick_continues_there(w: World) -> None:
    event = w.put(csv(450))
    w.deliver(event, remaining_s=10)
    upload = w.upload_of(event)
    assert (upload.checkpoint, upload.published, upload.publisher_until) == (100, False, 0)
    w.now += 1
    rounds = 0
    while w.tick():
        rounds += 1
    assert rounds == 1
    assert w.bus.calls == 5
    assert set(w.bus.sent.values()) == {1}
    assert_all_rows_are_on_their_way(w, upload, list(range(1, 451)))


def test_however_little_time_it_has_every_invocation_gets_further(w: World) -> None:
    event = w.put(MIXED)
    w.deliver(event, remaining_s=0)
    upload = w.upload_of(event)
    seen = [upload.checkpoint]
    while not w.upload(upload.upload_id).published:
        w.now += 2
        w.deliver({"continue_upload": upload.upload_id}, remaining_s=0)
        seen.append(w.upload(upload.upload_id).checkpoint)
    assert seen == sorted(seen)
    assert seen[-1] == upload.counts.records == 390
    assert_all_rows_are_on_their_way(w, upload, list(range(1, 391, 3)))
    assert set(w.bus.sent.values()) == {1}


def test_it_goes_by_what_was_stored_at_admission_not_by_what_is_deployed(w: World) -> None:
    body = "email;name;notes\na@example.com;Zoë;secret\n".encode("cp1252")
    upload = left_open(w, body)
    other = w.deployed(max_tokens=99, rendered_columns=("notes",), max_records=1, max_field_bytes=3)
    w.deliver({"continue_upload": upload.upload_id}, other)
    [detail] = w.bus.details.values()
    fields = {"email": "a@example.com", "name": "Zoë", "notes": "secret"}
    assert detail["data"]["fields"] == fields
    assert detail["data"]["key"] == Task.from_json(upload.task).key(fields)


def test_the_version_that_was_admitted_is_read_again_though_a_newer_one_exists(w: World) -> None:
    upload = left_open(w, csv(2))
    w.put(csv(9))
    finish(w)
    assert_all_rows_are_on_their_way(w, upload, [1, 2])


def test_a_publisher_that_is_alive_is_left_alone(w: World) -> None:
    event = w.put(csv(2))
    with armed(kill_at("events.put_events.before")), pytest.raises(Killed):
        w.deliver(event)
    w.now += 899
    w.deliver({"continue_upload": w.upload_of(event).upload_id})
    assert w.bus.calls == 0
    w.now += 3
    w.deliver({"continue_upload": w.upload_of(event).upload_id})
    assert w.bus.rows == [1, 2]


def test_what_is_published_is_not_published_again(w: World) -> None:
    upload = w.submit(csv(2))
    w.now += 10_000
    before = w.everything()
    w.deliver({"continue_upload": upload.upload_id})
    assert (w.bus.calls, w.everything()) == (1, before)


def test_an_upload_that_is_paused_meanwhile_stops_at_its_next_checkpoint(w: World) -> None:
    event = w.put(csv(450))

    def pause(point: str) -> None:
        if point == "events.put_events.before" and w.bus.calls == 1:
            set_state(w, w.upload_of(event), "paused")

    with armed(pause):
        w.deliver(event)
    upload, calls = w.upload_of(event), w.bus.calls
    # The requests that were under way, and none after them.
    assert 2 <= calls <= 5
    assert (upload.state, upload.published, upload.publisher_until) == ("paused", False, 0)
    assert upload.checkpoint <= 100
    w.deliver({"continue_upload": upload.upload_id})
    assert w.bus.calls == calls
    set_state(w, upload, "running")
    finish(w)
    assert_all_rows_are_on_their_way(w, upload, list(range(1, 451)))


def test_another_generation_ends_the_pass_and_its_lease_is_not_touched(w: World) -> None:
    event = w.put(csv(250))

    def begin_another(point: str) -> None:
        if point == "uploads.advance_checkpoint.before":
            w.prospects.update_item(
                Key={"pk": f"{w.upload_of(event).upload_id}#00", "sk": "META"},
                UpdateExpression="SET generation = :two, publisher_until = :later",
                ExpressionAttributeValues={":two": 2, ":later": 2_000_000_000},
            )

    with armed(begin_another):
        w.deliver(event)
    upload = w.upload_of(event)
    assert (upload.checkpoint, upload.published, upload.publisher_until) == (0, False, 2_000_000_000)
    assert w.bus.calls <= 3


def test_a_bus_that_refuses_is_reported_and_the_next_publisher_need_not_wait(w: World) -> None:
    w.bus.refuse = lambda call: client_error("AccessDeniedException") if call == 2 else None
    event = w.put(csv(150))
    with pytest.raises(PublishRefused):
        w.deliver(event)
    upload = w.upload_of(event)
    assert (upload.checkpoint, upload.published, upload.publisher_until) == (100, False, 0)
    w.now += 1
    finish(w)
    assert_all_rows_are_on_their_way(w, upload, list(range(1, 151)))
    assert set(w.bus.sent.values()) == {1}


def test_a_checkpoint_write_whose_answer_was_lost_does_not_stop_the_pass(
    w: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = w.intake.table.advance_checkpoint

    def repeated(*arguments: Any) -> Upload | None:
        real(*arguments)
        return real(*arguments)

    monkeypatch.setattr(w.intake.table, "advance_checkpoint", repeated)
    upload = w.submit(csv(250))
    assert_all_rows_are_on_their_way(w, upload, list(range(1, 251)))
    assert w.bus.calls == 3


def test_a_checkpoint_waits_for_every_request_before_it_though_later_ones_are_done(w: World) -> None:
    second_is_there = threading.Event()
    seen: list[int] = []
    event = w.put(csv(200))

    def first_waits_for_the_second(call: int) -> Exception | None:
        if call == 1:
            assert second_is_there.wait(10), "the second request was not sent beside the first"
            seen.append(w.upload_of(event).checkpoint)
            return client_error("AccessDeniedException")
        second_is_there.set()
        return None

    w.bus.refuse = first_waits_for_the_second
    with pytest.raises(PublishRefused):
        w.deliver(event)
    upload = w.upload_of(event)
    assert (seen, upload.checkpoint, upload.published, upload.publisher_until) == ([0], 0, False, 0)
    assert w.bus.rows == list(range(101, 201))
    w.now += 1
    finish(w)
    assert_all_rows_are_on_their_way(w, upload, list(range(1, 201)))


def test_events_are_never_larger_than_a_row_with_its_envelope(w: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record at the default limit, all of it characters that JSON spells with six, fits a request alone."""
    sizes: list[int] = []
    real = Entry.__post_init__

    def measured(entry: Entry) -> None:
        real(entry)
        sizes.append(entry.size)

    monkeypatch.setattr(Entry, "__post_init__", measured)
    field = "\x1f" * 32_000
    upload = w.submit(f"email,name,notes,title\na@example.com,A,x{field}x,x{field}x\n".encode())
    assert upload.counts.records == 1
    assert all(size < 500_000 for size in sizes)


def set_state(w: World, upload: Upload, state: str) -> None:
    w.prospects.update_item(
        Key={"pk": f"{upload.upload_id}#00", "sk": "META"},
        UpdateExpression="SET #state = :state",
        ExpressionAttributeNames={"#state": "state"},
        ExpressionAttributeValues={":state": state},
    )


def test_a_row_whose_event_is_refused_for_good_ends_and_holds_up_no_other(w: World) -> None:
    real = w.bus.put_events

    def poisoned(*, EventBusArn: str, Entries: Any) -> Any:  # noqa: N803
        bad = [json.loads(entry["Detail"])["data"]["row_number"] == 5 for entry in Entries]
        real(EventBusArn=EventBusArn, Entries=[e for e, refused in zip(Entries, bad, strict=True) if not refused])
        ends = [{"ErrorCode": "VALIDATION_ERROR"} if refused else {"EventId": "e"} for refused in bad]
        return {"FailedEntryCount": sum(bad), "Entries": ends}

    w.bus.put_events = poisoned  # type: ignore[method-assign]
    upload = w.submit(csv(250))
    assert w.upload(upload.upload_id).published
    assert w.bus.rows == [n for n in range(1, 251) if n != 5]
    assert [(row.row_number, row.outcome, row.reason) for row in w.rows(upload.upload_id)] == [
        (5, "failed", "event_refused")
    ]
