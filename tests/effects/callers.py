"""Every kind of caller of the effect core, as a program for `actors`: the real store behind the real decorator."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig, idempotent_function
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
    IdempotencyPersistenceLayerError,
)
from botocore.exceptions import BotoCoreError, ClientError

from functions.effects.claims import Claims
from functions.effects.errors import EffectStoreError, KeyConflictError
from functions.effects.outcomes import Outcome
from functions.effects.record import EffectRecord
from functions.effects.resolve import Resolver
from functions.effects.run import current_run, new_run
from functions.effects.store import EffectStore
from functions.effects.table import EffectTable

from .actors import REQUEST, Outside, Program, Told
from .memory import frozen, table

KEY = "t:k"
CANARY = "ada.canary@example.com"
"""Stands in the item that is classified and in a bug's message: never in a record."""
DEADLINE_S = 60
LEASE_S = DEADLINE_S + 5
MODEL_DEADLINE_S = 22
"""As in `functions.classify.effect`: with less than this left, a request is not sent."""
RETENTION_DAYS = 400

BILLED = {"answered", "failed_paid", "lost", "bug"}
"""The provider's replies after which it bills; the answer of some does not arrive."""
REPLIES = ("answered", "failed_paid", "lost", "silent", "refused", "overloaded", "bug")


class _Context:
    def get_remaining_time_in_millis(self) -> int:
        return DEADLINE_S * 1000


def told(record: EffectRecord | None) -> Told:
    if record is None:
        return Told(error="gone")
    return Told(record.state, record.outcome and frozen(record.outcome.model_dump(mode="json")))


def _outcome(reply: str, name: str) -> Outcome:
    match reply:
        case "answered":
            return Outcome.succeeded({"label": f"hot for {name}"}, request_id=f"req_{name}")
        case "failed_paid":
            return Outcome.failed("llm_no_label", paid=True)
        case "refused":
            return Outcome.failed("llm_bad_request", paid=False)
        case "overloaded":
            return Outcome.released("llm_overloaded", retry_after_s=3)
        case "lost" | "silent":
            # Only the world knows whether it was billed: the caller sees neither an answer nor a bill.
            return Outcome.unknown("llm_timeout")
        case _:
            raise ZeroDivisionError(f"a bug in the handler of {CANARY}")


def _or_error(run: Callable[[], Told]) -> Told:
    try:
        return run()
    except (ClientError, BotoCoreError, EffectStoreError, KeyConflictError) as error:
        return Told(error=type(error).__name__)


def _store(outside: Outside, max_paid_attempts: int, payload_hash: str) -> EffectStore:
    return EffectStore(
        table(outside),
        max_paid_attempts=max_paid_attempts,
        retention_days=RETENTION_DAYS,
        id_of=lambda item: KEY,
        payload_hash_of=lambda item: payload_hash,
        clock=outside.clock,
    )


@cache
def owner(name: str, max_paid_attempts: int = 1, payload_hash: str = "h") -> Program:
    """A delivery that runs the guarded effect and looks at the clock before it sends, as `classify` does."""

    def program(outside: Outside) -> Told:
        config = IdempotencyConfig()
        config.register_lambda_context(_Context())  # type: ignore[arg-type]

        def effect(*, item: dict[str, str]) -> dict[str, Any]:
            if current_run().deadline - outside.clock() < MODEL_DEADLINE_S:
                return Outcome.released("no_time").model_dump()
            current_run().mark_sent()
            return _outcome(outside.call(REQUEST, {"owner": name}), name).model_dump()

        guarded = idempotent_function(
            effect,
            data_keyword_argument="item",
            config=config,
            persistence_store=_store(outside, max_paid_attempts, payload_hash),
        )
        with new_run(deadline=outside.clock() + DEADLINE_S, origin=f"u-1/{name}") as run:
            run.owner = name
            try:
                guarded(item={"row": CANARY})
            except (IdempotencyPersistenceLayerError, KeyConflictError, ZeroDivisionError) as error:
                return Told(error=type(error).__name__)
            except IdempotencyAlreadyInProgressError:
                return Told("CLAIMED")
            return told(run.record)

    return program


@cache
def giver_up(payload_hash: str = "h") -> Program:
    """The worker on a message's last receive."""
    return lambda outside: _or_error(
        lambda: told(_store(outside, 1, payload_hash).give_up(KEY, payload_hash, "llm_overloaded", "u-1/9"))
    )


@cache
def sweeper() -> Program:
    """The sweep: reads the record and says of a claim whose lease is over that its outcome is unknown."""

    def sweep(outside: Outside) -> Told:
        effects = EffectTable(table(outside))
        record = effects.read(KEY)
        if record is None:
            return told(None)
        claims = Claims(effects, max_paid_attempts=1, retention_days=RETENTION_DAYS, clock=outside.clock)
        return told(claims.settle_expired(record))

    return lambda outside: _or_error(lambda: sweep(outside))


OPERATORS = ("ada", "bob", "cyd")
ORDERS = ("order_attempt", "prove_happened", "prove_absent", "rerun")


@cache
def operator(order: str, name: str = "ada") -> Program:
    """A person or the reconciler, by one method of the `Resolver`."""

    def resolve(outside: Outside) -> Told:
        effects = EffectTable(table(outside))
        seen = effects.read(KEY)
        if seen is None:
            return told(None)
        resolver = Resolver(effects, retention_days=RETENTION_DAYS, clock=outside.clock)
        return told(getattr(resolver, order)(seen, actor=name, reason="a reason"))

    return lambda outside: _or_error(lambda: resolve(outside))
