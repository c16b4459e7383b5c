"""Writes whose response was lost, giving up, and what operators and proofs may do to a record."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from functions.effects.errors import (
    KeyConflictError,
    MoveRefusedError,
)
from functions.effects.outcomes import Outcome
from functions.effects.record import EffectRecord
from functions.effects.resolve import ANSWER_LOST
from functions.effects.states import State
from functions.effects.table import EffectTable

from .conftest import MovableClock
from .world import COLD, HOT, Bench


@pytest.fixture
def bench(table: Any, clock: MovableClock) -> Bench:
    return Bench(table, clock)


# --- responses that are lost after the write was applied, so boto3 repeats it ---------------------------------------


def repeat_every_write(monkeypatch: pytest.MonkeyPatch, table: Any) -> None:
    """Each write is applied, and then sent again as boto3 does when its response was lost."""
    client = table.meta.client
    for name in ("put_item", "update_item"):
        real = getattr(client, name)

        def twice(_real: Any = real, **request: Any) -> Any:
            with contextlib.suppress(ClientError):
                _real(**request)
            return _real(**request)

        monkeypatch.setattr(client, name, twice)


@pytest.mark.parametrize(
    "outcome", [HOT, Outcome.failed("r", paid=True), Outcome.released("r"), Outcome.unknown("r")], ids=lambda o: o.kind
)
def test_a_repeated_write_finds_its_own_result_and_succeeds(
    bench: Bench, table: Any, monkeypatch: pytest.MonkeyPatch, outcome: Outcome
) -> None:
    repeat_every_write(monkeypatch, table)
    run = bench.call(lambda: outcome)
    assert run.record == bench.read()
    assert run.record is not None
    assert (run.record.outcome, run.record.attempt, run.record.late_answers, bench.requests) == (outcome, 1, 0, 1)


@pytest.mark.parametrize("order", ["order_attempt", "prove_happened", "prove_absent"])
def test_an_order_whose_answer_was_lost_is_given_once_and_said_to_be(
    bench: Bench, table: Any, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    bench.call(lambda: Outcome.unknown("llm_timeout"))
    repeat_every_write(monkeypatch, table)
    record = getattr(bench.resolver, order)(bench.read(), actor="ada", reason="r")
    assert record == bench.read()
    assert [resolution.actor for resolution in record.resolutions] == ["ada"]


def test_half_a_character_in_what_was_answered_is_kept_as_a_question_mark(bench: Bench) -> None:
    record = bench.call(lambda: Outcome.succeeded({"label": "hot"}, model="\ud800x")).record
    assert record is not None
    assert (record.reply.audit["model"], bench.requests) == ("?x", 1)


def test_a_number_with_a_fraction_is_kept_as_text(bench: Bench) -> None:
    scores = {"label": "hot", "scores": [0.87, 1, 0, 1e-7]}
    record = bench.call(lambda: Outcome.succeeded(scores)).record
    assert record is not None
    assert (record.reply.result["scores"], bench.requests) == (["0.87", 1, 0, "1e-07"], 1)


# --- giving up, and what operators do -------------------------------------------------------------------------------


def test_giving_up_on_what_never_ran_is_a_final_retryable_failure(bench: Bench) -> None:
    record = bench.store.give_up("t:k", "h", "llm_overloaded", "u-1/1")
    assert record == bench.read()
    assert record.reply == Outcome.failed("llm_overloaded", paid=False, retryable=True)
    assert not bench.call(lambda: HOT).fresh


def test_giving_up_keeps_whatever_had_come_of_the_key(bench: Bench) -> None:
    bench.call(lambda: Outcome.unknown("llm_timeout"))
    assert bench.store.give_up("t:k", "h", "llm_overloaded", "o").state is State.UNKNOWN
    assert bench.read().reply.reason == "llm_timeout"
    with pytest.raises(KeyConflictError):
        bench.store.give_up("t:k", "another", "llm_overloaded", "o")


def test_giving_up_on_a_dead_claim_says_unknown_and_leaves_a_live_one(bench: Bench) -> None:
    bench.die_at("effects.claim.after")
    assert bench.store.give_up("t:k", "h", "r", "o").state is State.CLAIMED
    bench.clock.pass_(66)
    assert bench.store.give_up("t:k", "h", "r", "o").state is State.UNKNOWN


def test_giving_up_on_a_released_attempt_is_final(bench: Bench) -> None:
    bench.call(lambda: Outcome.released("llm_overloaded"))
    record = bench.store.give_up("t:k", "h", "llm_overloaded", "o")
    assert (record.state, record.paid_attempts, record.reply.retryable) == (State.DONE, 0, True)


def test_an_operator_may_order_one_more_attempt_and_is_named_in_the_record(bench: Bench) -> None:
    bench.call(lambda: Outcome.unknown("llm_timeout"))
    bench.resolver.order_attempt(bench.read(), actor="ada", reason="customer waits")
    record = bench.call(lambda: HOT).record
    assert record is not None
    assert (record.reply, record.paid_attempts, bench.requests) == (HOT, 2, 2)
    assert [(r.actor, r.reason) for r in record.resolutions] == [("ada", "customer waits")]
    bench.call(lambda: COLD)
    assert bench.requests == 2


def test_what_is_proven_not_to_have_happened_may_run_again(bench: Bench) -> None:
    bench.call(lambda: Outcome.unknown("llm_timeout"))
    assert bench.resolver.prove_absent(bench.read(), actor="ada", reason="no bill").paid_attempts == 0
    record = bench.call(lambda: HOT).record
    assert record is not None
    assert (record.reply, record.paid_attempts) == (HOT, 1)


def test_a_late_answer_that_was_not_billed_takes_away_no_doubt_that_a_proof_took_already(
    table: Any, clock: MovableClock
) -> None:
    bench = Bench(table, clock, max_paid_attempts=2)
    bench.call(lambda: Outcome.unknown("llm_timeout"))

    def after_its_lease_and_a_proof() -> Outcome:
        clock.pass_(66)
        bench.call(lambda: HOT)
        assert (
            bench.resolver.prove_absent(bench.read(), actor="ada", reason="one is not on the bill").paid_attempts == 1
        )
        return Outcome.failed("llm_bad_request", paid=False)

    record = bench.call(after_its_lease_and_a_proof).record
    assert record is not None
    # The first attempt may have been billed still.
    assert (record.state, record.paid_attempts) == (State.DONE, 1)
    with pytest.raises(MoveRefusedError):
        bench.resolver.rerun(bench.read(), actor="ada", reason="r")


def test_an_operator_does_not_take_back_what_another_did_meanwhile(table: Any, clock: MovableClock) -> None:
    bench = Bench(table, clock, max_paid_attempts=2)
    for _ in range(2):
        bench.call(lambda: Outcome.unknown("llm_timeout"))
    seen = bench.read()
    bench.resolver.prove_absent(bench.read(), actor="ada", reason="not on the bill")
    with pytest.raises(MoveRefusedError):
        bench.resolver.order_attempt(seen, actor="bob", reason="customer waits")
    assert (bench.read().paid_attempts, [each.actor for each in bench.read().resolutions]) == (1, ["ada"])


def test_a_bill_without_an_answer_ends_as_a_paid_failure(bench: Bench) -> None:
    bench.call(lambda: Outcome.unknown("llm_timeout"))
    record = bench.resolver.prove_happened(bench.read(), actor="ada", reason="on the invoice")
    assert (record.state, record.reply) == (State.DONE, Outcome.failed(ANSWER_LOST, paid=True))
    assert record.paid_attempts == 1


def test_a_bill_without_an_answer_keeps_what_was_asked_of_which_model(bench: Bench) -> None:
    bench.call(lambda: Outcome.unknown("llm_timeout", model="m", input_digest="d"))
    record = bench.resolver.prove_happened(bench.read(), actor="ada", reason="on the invoice")
    assert record.reply.audit == {"model": "m", "input_digest": "d"}


def test_that_none_of_several_attempts_happened_is_said_of_them_all(bench: Bench) -> None:
    bench.call(lambda: Outcome.unknown("llm_timeout"))
    bench.resolver.order_attempt(bench.read(), actor="ada", reason="r")
    bench.call(lambda: Outcome.unknown("llm_timeout"))
    record = bench.resolver.prove_none_happened(bench.read(), actor="ada", reason="no usage")
    assert (record.state, record.paid_attempts) == (State.RELEASED, 0)
    assert record == bench.read()


Decide = Callable[[Any, EffectRecord], EffectRecord]
DECISIONS: dict[str, Decide] = {
    "billed": lambda resolver, seen: resolver.prove_happened(seen, actor="bob", reason="r"),
    "not-billed": lambda resolver, seen: resolver.prove_none_happened(seen, actor="bob", reason="r"),
    "rerun": lambda resolver, seen: resolver.order_attempt(seen, actor="bob", reason="r"),
}


@pytest.mark.parametrize("second", DECISIONS)
def test_of_two_decisions_about_one_doubt_the_second_is_refused_and_the_first_is_kept(
    bench: Bench, second: str
) -> None:
    bench.call(lambda: Outcome.unknown("llm_timeout"))
    seen = bench.read()
    first = bench.resolver.order_attempt(seen, actor="ada", reason="customer waits")
    with pytest.raises(MoveRefusedError):
        DECISIONS[second](bench.resolver, seen)
    assert bench.read() == first


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_decision_about_one_attempt_never_settles_the_next(bench: Bench, decision: str) -> None:
    bench.call(lambda: Outcome.unknown("llm_timeout"))
    seen = bench.read()
    bench.resolver.order_attempt(seen, actor="ada", reason="r")
    bench.call(lambda: Outcome.unknown("llm_timeout"))
    before = bench.read()
    with pytest.raises(MoveRefusedError):
        DECISIONS[decision](bench.resolver, seen)
    assert bench.read() == before


def test_an_answer_that_comes_after_the_proof_that_it_is_lost_is_counted(bench: Bench) -> None:
    def after_its_lease_and_the_proof() -> Outcome:
        bench.clock.pass_(66)
        bench.call(lambda: COLD)
        bench.resolver.prove_happened(bench.read(), actor="ada", reason="on the invoice")
        return HOT

    record = bench.call(after_its_lease_and_the_proof).record
    assert record == bench.read()
    assert (record.reply.reason, record.late_answers, bench.requests) == (ANSWER_LOST, 1, 1)


def test_only_an_unbilled_failure_is_rerun(bench: Bench, table: Any) -> None:
    bench.store.give_up("t:k", "h", "llm_overloaded", "o")
    assert bench.resolver.rerun(bench.read(), actor="ada", reason="outage over").state is State.RELEASED
    assert "expiration" not in table.get_item(Key={"id": "t:k"})["Item"]
    assert bench.call(lambda: HOT).fresh
    with pytest.raises(MoveRefusedError):
        bench.resolver.rerun(bench.read(), actor="ada", reason="again")
    assert bench.read().reply == HOT


def test_an_operators_move_that_does_not_exist_changes_nothing(bench: Bench) -> None:
    bench.call(lambda: HOT)
    before = bench.read()
    for move in (bench.resolver.order_attempt, bench.resolver.prove_absent, bench.resolver.prove_happened):
        with pytest.raises(MoveRefusedError):
            move(bench.read(), actor="ada", reason="r")
    assert bench.read() == before


def test_many_records_are_looked_up_in_batches(bench: Bench, table: Any) -> None:
    ids = [f"t:{n}" for n in range(230)]
    for effect_id in ids[::2]:
        bench.store.give_up(effect_id, "h", "r", "o")
    found = EffectTable(table).read_many(ids + ids)
    assert set(found) == set(ids[::2])
