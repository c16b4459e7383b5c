"""What the core refuses, in which words, and that nothing was run or changed then."""

from __future__ import annotations

from typing import Any

import pytest
from aws_lambda_powertools.utilities.idempotency import idempotent_function

from functions.effects.claims import Answered, Claims, _line
from functions.effects.errors import (
    KeyConflictError,
    MissingKeyError,
    NoRunError,
    SharedStoreError,
    UnsettledClaimError,
)
from functions.effects.outcomes import Outcome
from functions.effects.record import EffectRecord
from functions.effects.run import Run, current_run, new_run
from functions.effects.states import Event, State
from functions.effects.store import EffectStore, IdempotencyDisabledError, refuse_disabled_idempotency
from functions.effects.table import EffectTable, Refused

from .conftest import MovableClock
from .world import HOT, Bench

RECORD = EffectRecord(id="t:k", state=State.CLAIMED, attempt=1, payload_hash="h")


@pytest.fixture
def bench(table: Any, clock: MovableClock) -> Bench:
    return Bench(table, clock)


@pytest.mark.parametrize(("record", "attempt"), [(None, None), (RECORD, None), (None, 1)])
def test_a_run_that_claimed_nothing_settles_nothing(
    table: Any, clock: MovableClock, record: EffectRecord | None, attempt: int | None
) -> None:
    claims = Claims(EffectTable(table), max_paid_attempts=1, retention_days=None, clock=clock)
    run = Run(deadline=0, record=record, attempt=attempt)
    with pytest.raises(UnsettledClaimError, match=r"^a run settles only the attempt that it claimed$"):
        claims.settle("t:k", run, HOT)


def test_a_move_that_is_no_line_is_never_written() -> None:
    with pytest.raises(UnsettledClaimError, match=r"^no line of the table leads from DONE by claim$"):
        _line(State.DONE, Event.CLAIM)


def test_another_payload_is_refused_in_a_sentence(bench: Bench) -> None:
    bench.call()
    with pytest.raises(KeyConflictError, match=r"^this key is stored with another payload; nothing was run or changed"):
        bench.call(item={"id": "t:k", "hash": "another"})


def test_no_key_is_refused_in_a_sentence(bench: Bench) -> None:
    with pytest.raises(MissingKeyError, match=r"^this item has no key; nothing was run$"):
        bench.call(item={"id": "", "hash": "h"})


def test_a_second_function_is_told_whom_the_store_guards(bench: Bench) -> None:
    def another(*, item: dict[str, str]) -> dict[str, Any]:
        return HOT.model_dump()

    bench.call()
    guarded = idempotent_function(another, data_keyword_argument="item", persistence_store=bench.store)
    told = r"^this store guards tests\..*guarded; give tests\..*another a store of its own$"
    with new_run(deadline=0), pytest.raises(SharedStoreError, match=told):
        guarded(item={"id": "t:k", "hash": "h"})


def test_outside_of_a_run_there_is_none() -> None:
    with pytest.raises(NoRunError, match=r"^a guarded function was called outside new_run\(\.\.\.\)$"):
        current_run()
    with new_run(deadline=7, origin="u-1/1") as outer:
        with new_run(deadline=8) as inner:
            assert current_run() is inner
        assert current_run() is outer
    assert (outer.deadline, outer.origin, inner.origin, outer.fresh, outer.sent) == (7, "u-1/1", "", False, False)
    with pytest.raises(NoRunError):
        current_run()


def test_each_run_has_an_owner_of_its_own_and_notes_that_it_sent() -> None:
    run = Run(deadline=0)
    assert len(run.owner) == 32
    assert run.owner != Run(deadline=0).owner
    run.mark_sent()
    assert run.sent is True


@pytest.mark.parametrize("value", ["", "0", "false", "False", "f", "no", "n", "N", " off "])
def test_what_does_not_disable_the_decorator_starts(value: str, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_disabled_idempotency({"POWERTOOLS_IDEMPOTENCY_DISABLED": value})
    refuse_disabled_idempotency({})
    monkeypatch.setenv("POWERTOOLS_IDEMPOTENCY_DISABLED", value)
    refuse_disabled_idempotency()


def test_a_store_is_not_made_where_the_decorator_is_disabled(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_IDEMPOTENCY_DISABLED", "1")
    told = r"^POWERTOOLS_IDEMPOTENCY_DISABLED is set, so every duplicate would be paid again; unset it to start$"
    with pytest.raises(IdempotencyDisabledError, match=told):
        EffectStore(
            table, max_paid_attempts=1, retention_days=1, id_of=lambda item: "k", payload_hash_of=lambda item: "h"
        )


def test_whoever_claims_first_after_a_record_vanished_is_the_one(table: Any, clock: MovableClock) -> None:
    done = RECORD.model_copy(update={"state": State.DONE, "outcome": HOT})

    class Contended(EffectTable):
        looks = 0

        def create(self, event: Event, record: EffectRecord, expires_at: int | None = None) -> Refused | None:
            self.looks += 1
            return Refused(None if self.looks == 1 else done)

    claims = Claims(Contended(table), max_paid_attempts=1, retention_days=None, clock=clock)
    assert claims.claim("t:k", "h", Run(deadline=clock() + 60)) == Answered(done)


@pytest.mark.parametrize(
    ("kind", "values", "told"),
    [
        ("failed", {"paid": True}, "an outcome that is failed needs a reason code"),
        ("released", {"paid": True, "reason": "r"}, "released means certainly unbilled"),
        ("unknown", {"reason": "r"}, "unknown means that it may have been billed"),
    ],
)
def test_an_outcome_that_contradicts_itself_is_refused(kind: Any, values: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=rf"Value error, {told}"):
        Outcome(kind=kind, **values)


def test_an_open_record_has_no_reply() -> None:
    with pytest.raises(ValueError, match=r"^a record that is CLAIMED holds no outcome$"):
        _ = RECORD.reply
