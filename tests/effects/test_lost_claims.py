"""A claim whose answer is lost for good: nothing was sent under it, so it is no attempt in doubt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyPersistenceLayerError
from botocore.exceptions import ConnectionClosedError

from functions.effects.outcomes import Outcome
from functions.effects.run import new_run
from functions.effects.states import State

from .conftest import MovableClock
from .world import HOT, ITEM, Bench


@contextmanager
def losing(table: Any, *operations: str) -> Iterator[None]:
    """While open, these operations are done and their answers are lost, for every call of boto3 and its retries."""

    def lose(**_: Any) -> None:
        raise ConnectionClosedError(endpoint_url="http://table")

    events = table.meta.client.meta.events
    names = [f"after-call.dynamodb.{operation}" for operation in operations]
    for name in names:
        events.register(name, lose)
    try:
        yield
    finally:
        for name in names:
            events.unregister(name, lose)


def fails(bench: Bench) -> Any:
    """The record that a call knows of which could not learn whether it had claimed."""
    with new_run(deadline=bench.clock() + 60) as run, pytest.raises(IdempotencyPersistenceLayerError):
        bench.guarded(item=ITEM)
    return run.record


def nothing(_: Bench) -> None:
    pass


def released_before(bench: Bench) -> None:
    bench.call(lambda: Outcome.released("llm_overloaded"))


@pytest.mark.parametrize(("before", "attempt"), [(nothing, 1), (released_before, 2)])
def test_a_claim_that_was_made_unlearned_is_released_and_the_next_call_runs(
    table: Any, clock: MovableClock, before: Callable[[Bench], None], attempt: int
) -> None:
    bench = Bench(table, clock)
    before(bench)
    requests = bench.requests
    with losing(table, "PutItem" if attempt == 1 else "UpdateItem"):
        # Of a claim by UpdateItem the answer of its release is lost as well; that it was made is what counts.
        fails(bench)
    assert (bench.read().state, bench.read().attempt, bench.read().paid_attempts) == (State.RELEASED, attempt, 0)
    assert bench.requests == requests
    assert bench.call(lambda: HOT).record.reply == HOT  # type: ignore[union-attr]
    assert bench.requests == requests + 1


def test_somebody_elses_claim_is_never_released(table: Any, clock: MovableClock) -> None:
    bench = Bench(table, clock)
    bench.die_at("effects.claim.after")
    owner = bench.read().owner
    with losing(table, "PutItem"):
        assert fails(bench).owner == owner
    assert (bench.read().state, bench.read().owner) == (State.CLAIMED, owner)


def test_where_nothing_can_be_learned_the_lease_says_that_an_attempt_is_in_doubt(
    table: Any, clock: MovableClock
) -> None:
    bench = Bench(table, clock)
    with losing(table, "PutItem", "GetItem"):
        assert fails(bench) is None
    assert bench.read().state is State.CLAIMED
    clock.pass_(66)
    assert bench.call().record.state is State.UNKNOWN  # type: ignore[union-attr]
    assert bench.requests == 0
