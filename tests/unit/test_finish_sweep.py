"""The sweep on moto: every row without an item is joined with what is stored of its key, so often and no more."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from moto import mock_aws

from functions.crash_points import armed
from functions.effects.outcomes import Outcome
from functions.effects.states import State
from functions.uploads.keys import row_event_id
from functions.uploads.model import Upload
from functions.uploads.sweeps import Walk
from tests.unit.finish_world import START, TASK, World, a_row

HOT = Outcome.succeeded({"label": "hot", "cost_microusd": 70}, model="m", request_id="req_1")
UNKNOWN = Outcome.unknown("llm_timeout_outcome_unknown")
OVERLOADED = Outcome.released("llm_overloaded")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield World()


def one_open_row(world: World) -> Upload:
    """Rows 1 and 6 have ended, row 5 has not."""
    upload = world.admit()
    world.end_rows(a_row(1), a_row(6))
    return upload


def test_a_row_that_is_done_but_has_no_item_gets_it_and_the_upload_ends(world: World) -> None:
    one_open_row(world)
    world.store(5, State.DONE, HOT)
    world.until_swept()
    row = world.rows()[5]
    assert (row.outcome, row.label, row.cost_microusd, row.known, row.line) == ("classified", "hot", 70, False, 6)
    assert world.tick() == {"finished": 1}
    assert world.rows_on_the_bus() == []
    assert world.upload().sweeps == 0


def test_nothing_is_swept_before_the_queue_has_been_empty_and_the_rows_still_for_the_quiet_time(world: World) -> None:
    one_open_row(world)
    world.store(5, State.DONE, HOT)
    assert world.ticks(6) == [{"counted": 1}] * 5 + [{"swept": 1}]


def test_a_message_in_the_queue_begins_the_quiet_time_anew(world: World) -> None:
    one_open_row(world)
    world.ticks(3)
    world.put_on_the_queue()
    world.ticks(2)
    world.drain_the_queue()
    assert [{"swept": 1} in world.ticks(1) for _ in range(6)] == [False] * 5 + [True]


def test_a_row_that_ends_begins_the_quiet_time_anew(world: World) -> None:
    world.admit()
    world.end_rows(a_row(1))
    world.ticks(4)
    world.end_rows(a_row(6))
    assert [{"swept": 1} in world.ticks(1) for _ in range(6)] == [False] * 5 + [True]


def test_behind_a_busy_queue_rows_are_swept_after_the_stall_time_but_never_given_up(world: World) -> None:
    one_open_row(world)
    world.put_on_the_queue()
    for _ in range(5):
        world.until_swept(stall_s=600, max_sweeps=2)
    assert len(world.rows_on_the_bus()) == 2
    assert 5 not in world.rows()
    world.drain_the_queue()
    world.until_swept(stall_s=6000, max_sweeps=2)
    assert world.rows()[5].outcome == "failed"


@pytest.mark.parametrize("stored", [None, State.RELEASED], ids=["absent", "released"])
def test_a_row_that_nobody_answered_is_published_again_as_a_new_generation(world: World, stored: State | None) -> None:
    one_open_row(world)
    if stored:
        world.store(5, stored, OVERLOADED)
    world.until_swept()
    assert world.rows_on_the_bus() == [(5, row_event_id("u-1", 5, 2))]
    [entry] = world.bus.entries
    assert TASK.key({"email": "cleo@example.com", "name": "Cleo Moor", "notes": "two\nlines"}) in entry["Detail"]
    assert (world.upload().generation, world.upload().sweeps, world.upload().published) == (2, 1, True)
    assert 5 not in world.rows()


def test_a_row_that_is_never_answered_is_published_so_often_and_then_given_up(world: World) -> None:
    one_open_row(world)
    for _ in range(4):
        world.until_swept()
    assert world.rows_on_the_bus() == [(5, row_event_id("u-1", 5, generation)) for generation in (2, 3, 4)]
    row = world.rows()[5]
    assert (row.outcome, row.reason, row.retryable, row.paid, row.cost_microusd) == (
        ("failed", "never_answered", True, False, 0)
    )
    record = world.stored(5)
    assert record is not None
    assert (record.state, record.reply.reason) == (State.DONE, "never_answered")
    assert world.tick() == {"finished": 1}


def test_a_claim_whose_owner_died_becomes_unknown_and_ends_the_row(world: World) -> None:
    one_open_row(world)
    world.store(5, State.CLAIMED, owner="dead", lease_until_ms=int(world.now * 1000))
    world.until_swept()
    record = world.stored(5)
    assert record is not None
    assert (record.state, record.paid_attempts) == (State.UNKNOWN, 1)
    assert (world.rows()[5].outcome, world.rows()[5].reason) == ("unknown", "lease_expired_outcome_unknown")
    assert world.rows_on_the_bus() == []


def test_a_claim_that_is_alive_is_left_alone(world: World) -> None:
    one_open_row(world)
    world.store(5, State.CLAIMED, owner="alive", lease_until_ms=int((world.now + 3000) * 1000))
    world.until_swept()
    record = world.stored(5)
    assert record is not None
    assert record.state is State.CLAIMED
    assert 5 not in world.rows()
    assert world.rows_on_the_bus() == []
    world.now += 3000
    world.until_swept()
    assert world.rows()[5].outcome == "unknown"


@pytest.mark.parametrize(("policy", "asked_again"), [(1, False), (2, True)])
def test_an_unknown_is_asked_again_only_where_an_attempt_is_left(world: World, policy: int, asked_again: bool) -> None:
    one_open_row(world)
    world.store(5, State.UNKNOWN, UNKNOWN, paid_attempts=1)
    world.until_swept(max_paid_attempts=policy)
    assert bool(world.rows_on_the_bus()) is asked_again
    assert (5 in world.rows()) is not asked_again


def test_an_unknown_that_was_asked_for_often_enough_is_said_to_be_unknown(world: World) -> None:
    one_open_row(world)
    world.store(5, State.UNKNOWN, UNKNOWN, paid_attempts=1)
    for _ in range(4):
        world.until_swept(max_paid_attempts=2)
    assert world.rows()[5].outcome == "unknown"
    record = world.stored(5)
    assert record is not None
    assert record.state is State.UNKNOWN


def test_a_row_whose_key_belongs_to_another_payload_fails_by_that_name(world: World) -> None:
    one_open_row(world)
    world.store(5, State.RELEASED, OVERLOADED, payload_hash="another")
    for _ in range(4):
        world.until_swept()
    assert (world.rows()[5].outcome, world.rows()[5].reason) == ("failed", "key_conflict")


def test_a_pause_ends_a_sweep_and_its_rows_wait_for_the_resumption(world: World) -> None:
    one_open_row(world)

    def pause(reached: str) -> None:
        if reached == "uploads.begin_sweep_pass.after":
            world.table.pause(world.upload(), "llm_key_refused")

    with armed(pause):
        assert world.until_swept() == {"stopped": 1}
    assert world.rows_on_the_bus() == []
    assert world.upload().state == "paused"
    assert world.ticks(3)[-1] == {"not_due": 1}


def test_rows_that_are_not_published_yet_are_their_publishers(world: World) -> None:
    world.admit(published=False, publisher_until=0, checkpoint=0)
    assert world.ticks(8) == [{"continued": 1}] * 8
    assert world.intake.payloads == [{"continue_upload": "u-1"}] * 8


def test_rows_of_an_upload_whose_items_may_have_expired_are_never_published_again(world: World) -> None:
    world.admit(rows_kept_until=START)
    world.end_rows(a_row(1))
    world.until_swept()
    assert world.rows_on_the_bus() == []
    assert {row.reason for row in world.rows().values() if row.outcome == "failed"} == {"never_answered"}
    assert world.rows()[1].outcome == "classified"


def test_a_walk_that_gives_up_ends_with_an_operators_order_and_leaves_its_row_to_it(world: World) -> None:
    upload = world.admit()
    world.end_rows(a_row(1), a_row(6))
    world.sweeps.note_walk("u-1", Walk(generation=1, mode="gives_up"))
    assert world.table.extend(upload, actor="ada", day="2027-01-15", reserve_microusd=5)
    world.ticks(2)
    assert 5 not in world.rows()


def test_an_operators_order_stops_a_walk_that_is_giving_up(world: World) -> None:
    upload = world.admit()
    world.end_rows(a_row(1), a_row(6))
    world.sweeps.note_walk("u-1", Walk(generation=1, mode="gives_up"))

    def order(reached: str) -> None:
        if reached == "uploads.unfinished_walk.after":
            assert world.table.extend(upload, actor="ada", day="2027-01-15", reserve_microusd=5)

    with armed(order):
        assert world.tick() == {"stopped": 1}
    assert 5 not in world.rows()
