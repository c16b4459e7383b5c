"""A pass that an operator ordered: only rows that are open are looked up and published, under new ids."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from functions.crash_points import Killed, armed, kill_at
from functions.effects.outcomes import Outcome
from functions.effects.states import State
from functions.uploads.keys import row_event_id
from functions.uploads.model import RowItem, Upload
from tests.unit.intake_world import World, csv, world
from tests.unit.test_intake_publish import ANSWER, effect_id, finish

GIVEN_UP = Outcome.failed("llm_overloaded", paid=False, retryable=True)


@pytest.fixture
def w() -> Iterator[World]:
    with world() as made:
        yield made


def ended(upload: Upload, row: int, outcome: str = "classified", **more: object) -> RowItem:
    return RowItem.model_validate(
        {"upload_id": upload.upload_id, "row_number": row, "line": row + 1, "key": "k", "outcome": outcome, **more}
    )


def resumed(w: World, upload: Upload) -> Upload:
    assert w.table.pause(w.upload(upload.upload_id), "llm_key_refused")
    assert w.table.resume(w.upload(upload.upload_id), actor="ada")
    w.bus.sent.clear()
    w.bus.details.clear()
    w.bus.calls = 0
    w.calls.clear()
    return w.upload(upload.upload_id)


def test_a_row_that_has_ended_costs_no_look_up_no_write_and_no_event(w: World) -> None:
    upload = w.submit(csv(250))
    for row in range(1, 251):
        w.table.put_row(ended(upload, row))
    resumed(w, upload)
    finish(w)
    assert (w.bus.calls, w.calls["BatchGetItem"], w.calls["PutItem"]) == (0, 0, 0)
    now = w.upload(upload.upload_id)
    assert (now.generation, now.checkpoint, now.published) == (2, 250, True)


def test_open_rows_are_published_under_ids_of_the_new_pass(w: World) -> None:
    upload = w.submit(csv(250))
    for row in range(1, 251):
        if row not in (3, 120, 121, 250):
            w.table.put_row(ended(upload, row))
    w.store(effect_id(upload, 120), Outcome.released("llm_key_refused"), State.RELEASED)
    resumed(w, upload)
    finish(w)
    assert w.bus.rows == [3, 120, 121, 250]
    assert set(w.bus.sent) == {row_event_id(upload.upload_id, row, 2) for row in (3, 120, 121, 250)}
    assert (w.bus.calls, w.calls["BatchGetItem"]) == (1, 1)


def test_an_answer_without_an_item_becomes_the_item_and_no_event(w: World) -> None:
    upload = w.submit(csv(3))
    w.store(effect_id(upload, 2), ANSWER, paid_attempts=1, origin=f"{upload.upload_id}/2")
    resumed(w, upload)
    finish(w)
    assert w.bus.rows == [1, 3]
    [item] = w.rows(upload.upload_id)
    assert (item.row_number, item.label, item.known, item.cost_microusd) == (2, "hot", False, 40)


@pytest.mark.parametrize(
    ("record", "published"), [((GIVEN_UP, State.RELEASED), True), ((ANSWER, State.DONE), False), (None, True)]
)
def test_a_row_that_was_opened_again_is_published_unless_its_key_was_answered(
    w: World, record: tuple[Outcome, State] | None, published: bool
) -> None:
    upload = w.submit(csv(2))
    failed = ended(upload, 1, "failed", reason="llm_overloaded", retryable=True)
    w.table.put_row(failed)
    w.table.put_row(ended(upload, 2))
    assert w.table.reopen_row(failed)
    if record:
        w.store(effect_id(upload, 1), *record, paid_attempts=int(record[0] is ANSWER))
    resumed(w, upload)
    finish(w)
    assert w.bus.rows == ([1] if published else [])
    assert [item.row_number for item in w.rows(upload.upload_id)] == ([2] if published else [1, 2])


def test_a_row_that_failed_and_was_not_opened_again_keeps_its_end_though_its_key_is_free(w: World) -> None:
    upload = w.submit(csv(1))
    w.table.put_row(ended(upload, 1, "failed", reason="llm_overloaded", retryable=True))
    w.store(effect_id(upload, 1), Outcome.released("operator_rerun"), State.RELEASED)
    resumed(w, upload)
    finish(w)
    assert w.bus.rows == []


REPEATED = [
    f"{call}.{side}"
    for call in (
        "uploads.take_publishing",
        "uploads.iter_rows",
        "effects.read_many",
        "uploads.put_row",
        "events.put_events",
        "uploads.advance_checkpoint",
        "uploads.leave_publishing",
    )
    for side in ("before", "after")
]


@pytest.mark.parametrize("point", REPEATED)
def test_killed_anywhere_the_pass_goes_on_and_what_has_ended_stays_out_of_it(w: World, point: str) -> None:
    upload = w.submit(csv(150))
    for row in range(1, 101):
        w.table.put_row(ended(upload, row))
    w.store(effect_id(upload, 120), ANSWER, paid_attempts=1)
    resumed(w, upload)
    with armed(kill_at(point)), pytest.raises(Killed):
        w.deliver({"continue_upload": upload.upload_id})
    w.now += 902
    finish(w)
    assert w.bus.rows == [row for row in range(101, 151) if row != 120]
    assert set(w.bus.sent) == {row_event_id(upload.upload_id, row, 2) for row in w.bus.rows}
    assert [item.row_number for item in w.rows(upload.upload_id)] == [*range(1, 101), 120]
    assert w.upload(upload.upload_id).published


def test_stopped_on_the_way_it_goes_on_behind_its_checkpoint(w: World) -> None:
    upload = w.submit(csv(450))
    for row in range(1, 451, 2):
        w.table.put_row(ended(upload, row))
    resumed(w, upload)
    w.deliver({"continue_upload": upload.upload_id}, remaining_s=0)
    assert 0 < w.upload(upload.upload_id).checkpoint < 450
    w.now += 2
    finish(w)
    assert w.bus.rows == list(range(2, 451, 2))
    assert set(w.bus.sent.values()) == {1}
    assert w.upload(upload.upload_id).published
