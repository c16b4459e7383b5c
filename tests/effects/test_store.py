"""The store behind Powertools' decorator, as its users meet it: who runs, who is answered, what stays stored."""

from __future__ import annotations

from typing import Any

import pytest
from aws_lambda_powertools.utilities.idempotency import idempotent_function
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyPersistenceLayerError,
)

from functions.effects.claims import EARLIER_IN_DOUBT, LEASE_EXPIRED
from functions.effects.errors import (
    KeyConflictError,
    MissingKeyError,
    MoveRefusedError,
    NoRunError,
    SharedStoreError,
)
from functions.effects.outcomes import Outcome
from functions.effects.run import Run, current_run, new_run
from functions.effects.states import State
from functions.effects.store import (
    BUG_AFTER_SEND,
    BUG_BEFORE_SEND,
    IdempotencyDisabledError,
    refuse_disabled_idempotency,
)

from .conftest import MovableClock
from .world import COLD, HOT, ITEM, Bench


@pytest.fixture
def bench(table: Any, clock: MovableClock) -> Bench:
    return Bench(table, clock)


def test_a_duplicate_gets_the_stored_outcome_and_makes_no_request(bench: Bench) -> None:
    first = bench.call(lambda: HOT)
    second = bench.call(lambda: COLD)
    assert (first.fresh, second.fresh, bench.requests) == (True, False, 1)
    assert first.record == second.record == bench.read()
    assert second.record is not None
    assert second.record.reply == HOT


def test_the_record_tells_which_attempt_answered_from_what_and_when(bench: Bench) -> None:
    record = bench.call(origin="u-1/7").record
    assert record is not None
    assert (record.origin, record.attempt, record.paid_attempts) == ("u-1/7", 1, 1)
    assert (record.claimed_at, record.finished_at) == (int(bench.clock.now), int(bench.clock.now))
    assert record.reply.audit == {"request_id": "req_1"}


def test_only_done_expires(bench: Bench, table: Any) -> None:
    bench.call(lambda: Outcome.unknown("llm_timeout"))
    assert "expiration" not in table.get_item(Key={"id": "t:k"})["Item"]
    bench.call(item={"id": "t:other", "hash": "h"}, effect=lambda: HOT)
    done = table.get_item(Key={"id": "t:other"})["Item"]
    assert done["expiration"] == int(bench.clock.now) + 400 * 86_400


def test_a_duplicate_beside_a_live_claim_is_told_when_to_come_back(bench: Bench) -> None:
    met: list[Run] = []

    def while_another_arrives() -> Outcome:
        met.append(bench.in_progress())
        return HOT

    bench.call(while_another_arrives)
    assert met[0].lease_until == bench.clock.now + 65
    assert bench.requests == 1


def test_a_released_attempt_may_be_tried_again_under_a_higher_fence(bench: Bench) -> None:
    released = bench.call(lambda: Outcome.released("llm_overloaded", retry_after_s=3)).record
    assert released is not None
    assert (released.state, released.paid_attempts) == (State.RELEASED, 0)
    done = bench.call(lambda: HOT).record
    assert done is not None
    assert (done.state, done.attempt, done.paid_attempts, bench.requests) == (State.DONE, 2, 1, 2)


def test_an_unknown_outcome_is_never_called_again(bench: Bench) -> None:
    bench.call(lambda: Outcome.unknown("llm_timeout"))
    again = bench.call(lambda: HOT)
    assert bench.requests == 1
    assert again.record is not None
    assert again.record.reply == Outcome.unknown("llm_timeout")
    assert again.record.final_without_request(1)


def test_the_policy_may_allow_a_second_paid_attempt_and_no_third(table: Any, clock: MovableClock) -> None:
    bench = Bench(table, clock, max_paid_attempts=2)
    for _ in range(4):
        record = bench.call(lambda: Outcome.unknown("llm_timeout")).record
    assert record is not None
    assert (bench.requests, record.attempt, record.paid_attempts) == (2, 2, 2)


def test_an_attempt_that_was_not_billed_takes_no_doubt_from_an_earlier_one(table: Any, clock: MovableClock) -> None:
    bench = Bench(table, clock, max_paid_attempts=2)
    bench.call(lambda: Outcome.unknown("llm_timeout"))
    record = bench.call(lambda: Outcome.released("llm_overloaded")).record
    assert record is not None
    assert (record.state, record.paid_attempts, record.reply.reason) == (State.UNKNOWN, 1, EARLIER_IN_DOUBT)
    assert record.reply.audit["released"] == "llm_overloaded"
    assert bench.store.give_up("t:k", "h", "llm_overloaded", "o") == record
    fewer = Bench(table, clock, max_paid_attempts=1)
    assert (fewer.call(lambda: HOT).record, fewer.requests) == (record, 0)
    done = bench.call(lambda: HOT).record
    assert done is not None
    assert (done.reply, done.paid_attempts) == (HOT, 2)


def test_a_failure_after_an_unknown_attempt_is_not_rerun_as_unbilled(table: Any, clock: MovableClock) -> None:
    bench = Bench(table, clock, max_paid_attempts=2)
    bench.call(lambda: Outcome.unknown("llm_timeout"))
    record = bench.call(lambda: Outcome.failed("llm_bad_request", paid=False)).record
    assert record is not None
    assert (record.state, record.paid_attempts) == (State.DONE, 1)
    with pytest.raises(MoveRefusedError):
        bench.resolver.rerun(bench.read(), actor="ada", reason="r")


def test_of_two_unknown_attempts_a_proof_takes_one_away(table: Any, clock: MovableClock) -> None:
    bench = Bench(table, clock, max_paid_attempts=2)
    for _ in range(2):
        bench.call(lambda: Outcome.unknown("llm_timeout"))
    once = bench.resolver.prove_absent(bench.read(), actor="ada", reason="not on the bill")
    assert (once.state, once.paid_attempts) == (State.UNKNOWN, 1)
    twice = bench.resolver.prove_absent(bench.read(), actor="ada", reason="not on the bill")
    assert (twice.state, twice.paid_attempts) == (State.RELEASED, 0)


def test_a_kill_after_the_claim_ends_as_unknown_once_the_lease_is_over(bench: Bench) -> None:
    bench.die_at("effects.claim.after")
    bench.in_progress()
    bench.clock.pass_(66)
    answered = bench.call(lambda: HOT)
    assert bench.requests == 0
    assert answered.record is not None
    assert answered.record.reply.reason == LEASE_EXPIRED


def test_a_kill_before_the_claim_costs_nothing(bench: Bench) -> None:
    bench.die_at("effects.claim.before")
    assert bench.read() is None
    assert bench.call().fresh


def test_a_kill_after_the_save_is_answered_from_the_record(bench: Bench) -> None:
    bench.die_at("effects.finish.after")
    assert not bench.call(lambda: COLD).fresh
    assert bench.read().reply == HOT


def test_a_kill_between_the_answer_and_the_save_is_unknown_and_not_paid_twice(bench: Bench) -> None:
    bench.die_at("effects.finish.before")
    bench.clock.pass_(66)
    bench.call(lambda: HOT)
    assert bench.requests == 1
    assert bench.read().state is State.UNKNOWN


def test_a_late_owner_keeps_its_answer_while_nobody_claimed_since(bench: Bench) -> None:
    def answers_after_its_lease() -> Outcome:
        bench.clock.pass_(66)
        with new_run(deadline=bench.clock() + 60):
            bench.guarded(item=ITEM)
        assert bench.read().state is State.UNKNOWN
        return HOT

    late = bench.call(answers_after_its_lease)
    assert late.record == bench.read()
    assert (bench.read().reply, bench.read().paid_attempts, bench.requests) == (HOT, 1, 1)


def test_a_late_owner_never_overwrites_an_answer_and_is_counted(table: Any, clock: MovableClock) -> None:
    bench = Bench(table, clock, max_paid_attempts=2)

    def overtaken() -> Outcome:
        bench.clock.pass_(66)
        bench.call(lambda: COLD)
        return HOT

    late = bench.call(overtaken)
    assert late.record == bench.read()
    assert (bench.read().reply, bench.read().attempt, bench.read().late_answers) == (COLD, 2, 1)


def test_a_late_release_leaves_the_record_in_doubt(bench: Bench) -> None:
    def refused_after_its_lease() -> Outcome:
        bench.clock.pass_(66)
        bench.call(lambda: HOT)
        return Outcome.released("llm_overloaded")

    bench.call(refused_after_its_lease)
    assert (bench.read().state, bench.read().late_answers) == (State.UNKNOWN, 0)


@pytest.mark.parametrize(
    ("sent", "state", "reason"), [(False, State.RELEASED, BUG_BEFORE_SEND), (True, State.UNKNOWN, BUG_AFTER_SEND)]
)
def test_a_bug_never_deletes_the_record(bench: Bench, sent: bool, state: State, reason: str) -> None:
    def bug() -> Outcome:
        current_run().sent = sent
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        bench.call(bug)
    assert (bench.read().state, bench.read().outcome.reason) == (state, reason)


def test_the_same_key_with_another_payload_is_refused_and_changes_nothing(bench: Bench) -> None:
    bench.call()
    before = bench.read()
    with pytest.raises(KeyConflictError):
        bench.call(item={"id": "t:k", "hash": "another"})
    assert (bench.read(), bench.requests) == (before, 1)


def test_an_item_without_a_key_is_never_run(bench: Bench) -> None:
    with pytest.raises(MissingKeyError):
        bench.call(item={"id": "", "hash": "h"})
    assert bench.requests == 0


def test_a_call_outside_a_run_is_refused_before_anything_happens(bench: Bench) -> None:
    with pytest.raises(IdempotencyPersistenceLayerError) as refused:
        bench.guarded(item=ITEM)
    assert isinstance(refused.value.__cause__, NoRunError)
    assert (bench.read(), bench.requests) == (None, 0)


def test_one_store_guards_one_function(bench: Bench) -> None:
    @idempotent_function(data_keyword_argument="item", persistence_store=bench.store)
    def another(*, item: dict[str, str]) -> dict[str, Any]:
        return HOT.model_dump()

    bench.call()
    with new_run(deadline=0), pytest.raises(SharedStoreError):
        another(item=ITEM)


@pytest.mark.parametrize("value", ["true", "1", "YES", "on"])
def test_a_disabled_decorator_refuses_to_start(value: str) -> None:
    with pytest.raises(IdempotencyDisabledError):
        refuse_disabled_idempotency({"POWERTOOLS_IDEMPOTENCY_DISABLED": value})
    refuse_disabled_idempotency({"POWERTOOLS_IDEMPOTENCY_DISABLED": "false"})
