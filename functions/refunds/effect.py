"""The guarded effect: one refund behind Powertools' idempotency, on the effect core's store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, cast

from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig, idempotent_function

from functions.clock import Clock, wall_clock
from functions.effects.outcomes import Outcome
from functions.effects.run import Run, current_run
from functions.effects.store import EffectStore
from functions.refunds.keys import effect_id
from functions.refunds.model import Action, ProviderName
from functions.refunds.providers.protocol import Absent, CannotTell, Found, Provider, Reply
from functions.refunds.standing import must_ask_first

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table

    from functions.refunds.settings import RefundSettings

SPARE_S = 2.0
"""Time kept, beyond the provider's deadline, to store the answer before the invocation ends."""
MAX_PAID_ATTEMPTS = 1
"""Refunds hold: an unknown one is never sent again before somebody proved that it did not happen."""

Providers = Mapping[ProviderName, Provider]


class Intent(TypedDict):
    """The record's id and the approved payload's digest."""

    id: str
    payload_hash: str


class Guarded(Protocol):
    """Runs the effect of an intent, or finds that it was run; the run's `record` holds what is stored."""

    def __call__(self, *, item: Intent, action: Action) -> dict[str, Any]: ...


def intent_of(action: Action) -> Intent:
    return {"id": effect_id(action.request_id), "payload_hash": action.payload_hash}


def build_store(table: Table, settings: RefundSettings, clock: Clock = wall_clock) -> EffectStore:
    """The store of this one guarded function. Raises when Powertools' idempotency is switched off."""
    return EffectStore(
        table,
        max_paid_attempts=MAX_PAID_ATTEMPTS,
        retention_days=None,
        lease_grace_s=settings.lease_grace_s,
        id_of=lambda item: str(item["id"]),
        payload_hash_of=lambda item: str(item["payload_hash"]),
        clock=clock,
    )


def guard(
    store: EffectStore, providers: Providers, *, provider_deadline_s: float, clock: Clock = wall_clock
) -> Guarded:
    """The refund, sent at most as often as the store allows. Call it inside `new_run(…)`."""

    def before_send(run: Run) -> bool:
        # The wall clock: a sandbox that was frozen has a monotonic clock that stood still.
        if run.deadline - clock() < provider_deadline_s + SPARE_S:
            return False
        run.mark_sent()
        return True

    config = IdempotencyConfig()
    # Powertools warns without a context. The lease is the store's own, from the run's deadline.
    config.register_lambda_context(cast(Any, _RunContext(clock)))

    def refund(*, item: Intent, action: Action) -> dict[str, Any]:  # noqa: ARG001 - Powertools keys on it
        run, provider = current_run(), providers[action.provider]
        age_s, doubted = clock() - action.decided_at, run.record is not None and bool(run.record.resolutions)
        if must_ask_first(run.attempt or 1, age_s, provider.keys_retention_s, doubted=doubted):
            match provider.look_up(action):
                case Found(reply):
                    return outcome_of(action, reply).model_dump()
                case CannotTell(reason):
                    return Outcome.released(reason).model_dump()
                case Absent():
                    pass
        # The same key on every attempt, so that the provider knows a repeat where it keeps keys.
        reply = provider.refund(action, idempotency_key=action.request_id, before_send=lambda: before_send(run))
        return outcome_of(action, reply).model_dump()

    guarded: Guarded = idempotent_function(refund, data_keyword_argument="item", config=config, persistence_store=store)
    return guarded


def outcome_of(action: Action, reply: Reply) -> Outcome:
    """What is stored of a provider's reply."""
    audit: dict[str, Any] = {
        "provider": action.provider,
        "order_id": action.order_id,
        "amount_minor": action.amount_minor,
        "currency": action.currency,
    }
    if reply.provider_request_id:
        audit["provider_request_id"] = reply.provider_request_id
    match reply.kind:
        case "succeeded":
            result = {"refund_id": reply.refund_id} | ({"standing": reply.standing} if reply.standing else {})
            return Outcome.succeeded(result, **audit)
        case "failed":
            return Outcome.failed(reply.reason, paid=reply.paid, **audit)
        case "released":
            return Outcome.released(reply.reason, retry_after_s=reply.retry_after_s, **audit)
        case "unknown":
            return Outcome.unknown(reply.reason, **audit)


class _RunContext:
    """Stands in for Lambda's context: the remaining time of whichever run is current."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((current_run().deadline - self._clock()) * 1000))
