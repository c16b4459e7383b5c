"""Every line of the table, on DynamoDB: it moves when its conditions hold and changes nothing when one does not."""

from __future__ import annotations

from typing import Any

import pytest

from functions.effects.outcomes import Outcome
from functions.effects.record import EffectRecord, Resolution
from functions.effects.states import MOVES, Event, Guard, Move, Reply, State, move_for, paid_by, reply_to_claim
from functions.effects.table import EffectTable, Refused

NOW_MS = 1_800_000_000_000
ME = "me"
FROM_A_RECORD = [move for move in MOVES if move.start is not State.ABSENT]
NEW = [move for move in MOVES if move.start is State.ABSENT]


def named(move: Move) -> str:
    return f"{move.start}-{move.event}-{move.end}".replace(" ", "_")


def paid_for(move: Move) -> int:
    """Paid attempts with which the guards of this move hold."""
    if Guard.NOTHING_PAID in move.guards:
        return 0
    return 2 if Guard.SEVERAL_PAID in move.guards else 1


def a_record(state: State, **changes: Any) -> EffectRecord:
    values: dict[str, Any] = {
        "id": "t:k",
        "state": state,
        "attempt": 3,
        "paid_attempts": 1,
        "owner": ME,
        "lease_until_ms": NOW_MS - 1,
        "payload_hash": "h",
        "outcome": Outcome.failed("r", paid=False) if state is State.DONE else None,
    }
    return EffectRecord(**(values | changes))


def stored(table: Any, record: EffectRecord) -> EffectRecord:
    table.put_item(Item=record.model_dump(mode="json", exclude_none=True))
    return record


def apply(table: Any, seen: EffectRecord, move: Move) -> EffectRecord | Refused:
    return EffectTable(table).apply(seen, move, owner=ME, now_ms=NOW_MS, changes={"finished_at": 7})


@pytest.mark.parametrize("move", FROM_A_RECORD, ids=named)
def test_a_move_is_made_when_everything_it_demands_holds(table: Any, move: Move) -> None:
    seen = stored(table, a_record(move.start, paid_attempts=paid_for(move)))
    result = apply(table, seen, move)
    assert isinstance(result, EffectRecord)
    assert (result.state, result.finished_at, result.attempt) == (move.end, 7, 3)
    assert EffectTable(table).read("t:k") == result


BROKEN: dict[Guard, list[dict[str, Any]]] = {
    Guard.OWNER: [{"owner": "somebody else"}],
    Guard.LEASE_OVER: [{"lease_until_ms": NOW_MS}, {"lease_until_ms": NOW_MS + 1}],
    Guard.ATTEMPT_LEFT: [{"paid_attempts": 2}],
    Guard.DECISIONS_AS_SEEN: [{"resolutions": (Resolution(event="e", actor="ada", reason="r", at=1),)}],
    Guard.NOTHING_PAID: [{"paid_attempts": 1}],
    Guard.SOMETHING_PAID: [{"paid_attempts": 0}],
    Guard.ONE_PAID: [{"paid_attempts": 0}, {"paid_attempts": 2}],
    Guard.SEVERAL_PAID: [{"paid_attempts": 1}],
    Guard.UNBILLED_FAILURE: [
        {"outcome": Outcome.failed("r", paid=True)},
        {"outcome": Outcome.succeeded({"label": "hot"})},
    ],
}


def breaches(move: Move) -> list[dict[str, Any]]:
    others = [state for state in State if state not in {move.start, State.ABSENT}]
    moved_on = [{"state": state, "outcome": Outcome.failed("r", paid=False)} for state in others]
    return [{"attempt": 4}, *moved_on, *(breach for guard in move.guards for breach in BROKEN[guard])]


@pytest.mark.parametrize(
    ("move", "breach"),
    [
        pytest.param(move, breach, id=f"{named(move)}-{n}")
        for move in FROM_A_RECORD
        for n, breach in enumerate(breaches(move))
    ],
)
def test_a_move_whose_condition_does_not_hold_changes_nothing(table: Any, move: Move, breach: dict[str, Any]) -> None:
    holding = {"state": move.start, "paid_attempts": paid_for(move)}
    actual = stored(table, a_record(**(holding | breach)))
    result = apply(table, a_record(**holding), move)
    assert result == Refused(actual)
    assert EffectTable(table).read("t:k") == actual


@pytest.mark.parametrize("move", FROM_A_RECORD, ids=named)
def test_a_move_never_brings_an_item_into_being(table: Any, move: Move) -> None:
    assert apply(table, a_record(move.start), move) == Refused(None)
    assert EffectTable(table).read("t:k") is None


@pytest.mark.parametrize("move", NEW, ids=named)
def test_a_first_write_is_refused_where_an_item_exists(table: Any, move: Move) -> None:
    first = a_record(move.end)
    assert EffectTable(table).create(move.event, first) is None
    assert EffectTable(table).create(move.event, a_record(move.end, owner="late", attempt=9)) == Refused(first)
    assert EffectTable(table).read("t:k") == first


def test_no_two_lines_start_alike() -> None:
    assert len({(move.start, move.event) for move in MOVES}) == len(MOVES)


def test_nothing_but_an_operators_rerun_leads_out_of_done() -> None:
    assert [move.event for move in MOVES if move.start is State.DONE] == [Event.RERUN]
    assert move_for(State.DONE, Event.CLAIM) is None


def test_nobody_can_claim_what_is_claimed() -> None:
    assert move_for(State.CLAIMED, Event.CLAIM) is None


def test_every_write_by_an_owner_is_fenced_with_the_owner() -> None:
    by_owner = {Event.FINISH, Event.RELEASE, Event.RELEASE_IN_DOUBT, Event.DOUBT}
    assert all(Guard.OWNER in move.guards for move in MOVES if move.event in by_owner)


def test_every_way_into_unknown_counts_a_paid_attempt_and_only_a_proof_takes_it_back() -> None:
    into = {m.event: paid_by(m, outcome_paid=True) for m in MOVES if m.end is State.UNKNOWN is not m.start}
    assert into == {Event.DOUBT: 1, Event.EXPIRE: 1, Event.RELEASE_IN_DOUBT: 0}
    assert {m.event for m in MOVES if m.paid == -1} == {Event.PROVE_ABSENT, Event.PROVE_ONE_ABSENT}


def test_whatever_ends_as_unbilled_never_had_an_attempt_that_may_have_been_billed() -> None:
    into_released = [m for m in MOVES if m.end is State.RELEASED]
    given_up = [m for m in MOVES if m.event is Event.GIVE_UP and m.start is not State.ABSENT]
    for move in (*into_released, *given_up):
        assert move.guards & {Guard.NOTHING_PAID, Guard.ONE_PAID}
        assert Guard.ONE_PAID not in move.guards or move.paid == -1


@pytest.mark.parametrize(
    ("start", "paid", "adds"),
    [
        (State.CLAIMED, True, 1),
        (State.CLAIMED, False, 0),
        (State.RELEASED, True, 1),
        (State.UNKNOWN, True, 0),
        (State.UNKNOWN, False, -1),
    ],
)
def test_an_answer_counts_its_attempt_once(start: State, paid: bool, adds: int) -> None:
    move = move_for(start, Event.FINISH)
    assert move is not None
    assert paid_by(move, outcome_paid=paid) == adds


@pytest.mark.parametrize(
    ("state", "own", "over", "left", "reply"),
    [
        (State.DONE, False, True, True, Reply.REPLAY),
        (State.DONE, True, True, True, Reply.REPLAY),
        (State.CLAIMED, False, False, True, Reply.IN_PROGRESS),
        (State.CLAIMED, True, False, True, Reply.MINE),
        (State.CLAIMED, False, True, True, Reply.EXPIRE),
        (State.RELEASED, False, True, False, Reply.CLAIM),
        (State.UNKNOWN, False, True, True, Reply.CLAIM),
        (State.UNKNOWN, False, True, False, Reply.REPLAY),
    ],
)
def test_what_a_claim_call_is_told(state: State, own: bool, over: bool, left: bool, reply: Reply) -> None:
    assert reply_to_claim(state, own=own, lease_over=over, attempt_left=left) is reply
