"""Later outcomes of keys reach the rows and results of every upload, and nothing is rewritten without one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from functions.crash_points import Killed, armed, kill_at
from functions.effects.outcomes import Outcome
from functions.effects.states import State
from functions.finish.count import pause_before_next_attention
from functions.uploads.keys import row_address
from functions.uploads.model import RowItem
from tests.unit.finish_world import BUCKET, KEY, START, World, a_row

HOT = Outcome.succeeded({"label": "warm", "cost_microusd": 70}, model="m", request_id="req_5")
UNKNOWN = Outcome.unknown("llm_timeout_outcome_unknown")
GIVEN_UP = Outcome.failed("llm_overloaded", paid=False, retryable=True)
DAY_S = 86_400
POINTS = [
    *(f"uploads.attention_page.{moment}" for moment in ("before", "after")),
    *(f"uploads.reopen.{moment}" for moment in ("before", "after")),
    *(f"uploads.claim_look.{moment}" for moment in ("before", "after")),
    *(f"uploads.replace_row.{moment}" for moment in ("before", "after")),
    *(f"finish.results_put.{moment}" for moment in ("before", "after")),
    *(f"uploads.finish.{moment}" for moment in ("before", "after")),
]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield World()


def unanswered(world: World, outcome: str = "unknown") -> RowItem:
    return a_row(
        5,
        outcome,
        key=world.key(5),
        attempt=1,
        reason="llm_overloaded" if outcome == "failed" else "llm_timeout_outcome_unknown",
        retryable=outcome == "failed",
        cost_microusd=0,
    )


def done_with(world: World, outcome: str = "unknown", **changes: Any) -> None:
    """A finished upload, told, whose row 5 has this outcome, which could still change."""
    world.admit(**changes)
    world.end_rows(a_row(1), unanswered(world, outcome), a_row(6))
    world.store(5, *((State.UNKNOWN, UNKNOWN) if outcome == "unknown" else (State.DONE, GIVEN_UP)), paid_attempts=1)
    assert world.tick() == {"finished": 1}
    world.mails()
    world.now += 60


def test_a_late_answer_replaces_an_unknown_in_a_finished_upload_whose_results_are_a_new_revision(world: World) -> None:
    done_with(world)
    world.store(5, State.DONE, HOT)
    assert world.tick() == {"finished": 1}
    done = world.upload()
    assert (done.state, done.revision, done.rows.unknown, done.rows.classified) == ("done", 2, 0, 3)
    assert done.rows.cost_microusd == 270
    row = world.rows()[5]
    assert (row.outcome, row.label, row.line, row.request_id, row.known) == ("classified", "warm", 6, "req_5", False)
    assert "req_5" in world.results()
    assert world.still_open() == []
    [mail] = world.mails()
    assert "revision 2 of its results" in mail["Message"]


def test_nothing_is_rewritten_while_nothing_changes(world: World) -> None:
    done_with(world)
    assert world.ticks(4) == [{}] * 4
    assert world.upload().revision == 1


@pytest.mark.parametrize("state", [State.RELEASED, State.CLAIMED, State.UNKNOWN])
def test_a_record_that_may_be_asked_again_changes_no_row_and_publishes_nothing(world: World, state: State) -> None:
    done_with(world)
    world.store(
        5,
        state,
        Outcome.released("proven_absent") if state is State.RELEASED else None if state is State.CLAIMED else UNKNOWN,
        paid_attempts=1,
        ordered_attempts=1,
    )
    assert world.ticks(3) == [{}] * 3
    assert world.rows_on_the_bus() == []


def test_a_given_up_row_is_replaced_by_what_came_of_its_rerun_elsewhere(world: World) -> None:
    done_with(world, "failed")
    world.store(5, State.DONE, HOT, attempt=2, origin="u-9/1")
    world.tick()
    assert (world.rows()[5].label, world.rows()[5].known, world.rows()[5].cost_microusd) == ("warm", True, 0)
    assert world.upload().revision == 2


def test_a_row_of_a_running_upload_is_replaced_as_it_is_looked_at(world: World) -> None:
    world.admit()
    world.end_rows(a_row(1), unanswered(world))
    world.store(5, State.DONE, HOT)
    assert world.tick() == {"counted": 1}
    assert world.rows()[5].label == "warm"
    assert world.upload().resumes == 0


def test_a_row_that_an_operator_reopened_is_left_to_its_own_outcome(world: World) -> None:
    done_with(world)
    assert world.table.reopen_row(world.rows()[5])
    world.store(5, State.DONE, HOT)
    assert world.tick() == {}
    assert world.upload().state == "done"


def test_an_upload_whose_end_was_not_told_yet_is_told_before_it_is_opened_again(world: World) -> None:
    world.admit()
    world.end_rows(a_row(1), unanswered(world), a_row(6))
    world.store(5, State.DONE, HOT)
    world.end_rows()
    with armed(kill_at("finish.notify.before")), pytest.raises(Killed):
        world.tick()
    world.now += 61
    world.ticks(3)
    revisions = [mail["Message"].splitlines()[0] for mail in world.mails()]
    assert revisions[0] == "Upload u-1 is done."
    assert world.rows()[5].label == "warm"


@pytest.mark.parametrize("point", POINTS)
def test_a_tick_that_is_killed_anywhere_leaves_no_results_older_than_the_rows(world: World, point: str) -> None:
    done_with(world)
    world.store(5, State.DONE, HOT)
    with armed(kill_at(point)), pytest.raises(Killed):
        world.tick()
    world.now += 61
    world.ticks(3)
    assert world.upload().state == "done"
    assert world.rows()[5].label == "warm"
    assert "req_5" in world.results()
    assert world.upload().rows.unknown == 0
    assert world.still_open() == []


@pytest.mark.parametrize("point", POINTS)
def test_a_second_tick_at_any_moment_rewrites_the_results_once(world: World, point: str) -> None:
    done_with(world)
    world.store(5, State.DONE, HOT)
    seconds: list[dict[str, int]] = []

    def hook(reached: str) -> None:
        if reached == point and not seconds:
            seconds.append({})
            seconds[0] = world.tick()

    with armed(hook):
        world.tick()
    world.now += 60
    world.ticks(2)
    assert len(seconds) == 1
    assert "req_5" in world.results()
    assert (world.upload().state, world.upload().rows.unknown) == ("done", 0)
    # The other tick may have finished what was opened before its row was replaced; never the other way round.
    assert world.upload().revision <= 3


def test_of_an_upload_whose_other_rows_have_expired_the_row_is_replaced_and_nothing_is_asked_again(
    world: World,
) -> None:
    done_with(world, rows_kept_until=START + 10 * DAY_S)
    for number in (1, 6):
        world.raw_table.delete_item(Key=row_address("u-1", number))
    world.now = START + 10 * DAY_S
    world.store(5, State.DONE, HOT)
    world.ticks(12)
    assert world.rows_on_the_bus() == []
    assert (world.upload().state, world.upload().revision) == ("done", 1)
    assert world.rows()[5].label == "warm"


def test_of_an_upload_whose_file_is_gone_the_row_is_replaced_and_no_tick_fails(world: World) -> None:
    done_with(world)
    # Names that begin alike, and other versions, are not the file.
    for key in (KEY, f"{KEY}.csv", KEY[:-1]):
        world.s3.put_object(Bucket=BUCKET, Key=key, Body=b"email,name,company\n")
    world.s3.delete_object(Bucket=BUCKET, Key=KEY, VersionId=world.upload().version_id)
    world.store(5, State.DONE, HOT)
    world.ticks(3)
    assert (world.upload().state, world.upload().revision) == ("done", 1)
    assert world.rows()[5].label == "warm"
    assert world.still_open() == []


def test_a_round_that_runs_out_of_time_goes_on_behind_where_it_stopped(world: World) -> None:
    waiting = [
        a_row(n, "unknown", upload_id="u-2", key=f"{n:064d}", attempt=1, reason="r" * 4000) for n in range(1, 400)
    ]
    world.end_rows(*waiting)
    starts = []
    for _ in range(3):
        world.tick(lasting_s=5)
        starts.append(world.raw_table.get_item(Key={"pk": "SWEEP", "sk": "attention"})["Item"]["position"])
        world.now += 60
    assert starts[0]["rows"] < 399
    assert starts[1] != starts[0]


def test_the_more_rows_wait_the_more_rarely_they_are_looked_up() -> None:
    assert pause_before_next_attention(0, 60) == pause_before_next_attention(2_000, 60) == 60
    assert pause_before_next_attention(100_000, 60) == 3_000
    assert pause_before_next_attention(10_000_000, 60) == 21_600
