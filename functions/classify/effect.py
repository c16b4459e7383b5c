"""The guarded effect: one classification behind Powertools' idempotency, on the effect core's store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig, idempotent_function

from functions.api_key import KeyUnavailableError
from functions.classify.answers import parse_message, read_answer
from functions.classify.billing import KEY_UNAVAILABLE, KEY_UNREAD, Answer, NoAnswer, Verdict, verdict_of
from functions.classify.effect_item import EffectItem, input_digest, payload_hash
from functions.classify.prices import cost_microusd, worst_case_microusd
from functions.classify.task import Task
from functions.clock import Clock, wall_clock
from functions.crash_points import crossing, reach
from functions.effects.outcomes import Outcome
from functions.effects.run import Run, current_run
from functions.effects.store import EffectStore

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table

    from functions.settings import ClassifySettings

SPARE_S = 2.0
"""Time kept, beyond the model's own deadline, to store the answer before the invocation ends."""
MAX_NAME = 200
"""Longest name kept of what an answer calls itself (request id, model, stop reason), in characters."""


class Ask(Protocol):
    """Sends one request; see `functions.classify.claude.Claude.ask`."""

    def __call__(self, request: Mapping[str, Any], before_send: Any) -> Answer | NoAnswer: ...


class Guarded(Protocol):
    """Runs the effect of `item`, or finds that it was run; the run's `record` holds what is stored."""

    def __call__(self, *, item: EffectItem, task: Task) -> dict[str, Any]: ...


def build_store(table: Table, settings: ClassifySettings, clock: Clock = wall_clock) -> EffectStore:
    """The store of this one guarded function. Raises when Powertools' idempotency is switched off."""
    return EffectStore(
        table,
        max_paid_attempts=settings.max_paid_attempts,
        retention_days=settings.outcome_retention_days,
        lease_grace_s=settings.lease_grace_s,
        id_of=lambda item: str(item["id"]),
        payload_hash_of=payload_hash,
        clock=clock,
    )


def guard(store: EffectStore, ask: Ask, *, model_deadline_s: float, clock: Clock = wall_clock) -> Guarded:
    """The classification, run at most as often as the store allows. Call it inside `new_run(…)`."""

    def before_send(run: Run) -> bool:
        # The wall clock: a sandbox that was frozen has a monotonic clock that stood still.
        if run.deadline - clock() < model_deadline_s + SPARE_S:
            return False
        run.mark_sent()
        reach("classify.model.leaving")
        return True

    config = IdempotencyConfig()
    # Powertools warns without a context. The lease is the store's own, from the run's deadline.
    config.register_lambda_context(cast(Any, _RunContext(clock)))

    def classify(*, item: EffectItem, task: Task) -> dict[str, Any]:
        rendered = item["rendered"]
        # Taken here, in the row's own thread: the request leaves from another one.
        run = current_run()
        try:
            with crossing("classify.model"):
                reply = ask(task.request(rendered), lambda: before_send(run))
        except KeyUnavailableError as error:
            return Outcome.released(KEY_UNREAD if error.passing else KEY_UNAVAILABLE).model_dump()
        return outcome_of(task, rendered, reply).model_dump()

    guarded: Guarded = idempotent_function(
        classify, data_keyword_argument="item", config=config, persistence_store=store
    )
    return guarded


def outcome_of(task: Task, rendered: Mapping[str, str], reply: Answer | NoAnswer) -> Outcome:
    """What is stored of a reply: its meaning for money by `billing`, its label by `answers`."""
    verdict = verdict_of(reply)
    audit: dict[str, Any] = {
        "model": task.model,
        "prompt_version": task.prompt_version,
        "input_digest": input_digest(rendered),
    }
    if isinstance(reply, Answer):
        audit |= {"status": reply.status, "request_id": reply.request_id[:MAX_NAME]}
        if verdict.kind == "read":
            return _read(task, rendered, reply, audit)
    return _unread(verdict, reply, worst_case_microusd(task, rendered), audit)


def _read(task: Task, rendered: Mapping[str, str], answer: Answer, audit: dict[str, Any]) -> Outcome:
    message = parse_message(answer.body)
    reading = read_answer(message)
    usage = message.usage if message else {}
    # An answer whose usage cannot be read is charged at the most it can have cost.
    cost = cost_microusd(task.model, usage) if usage else worst_case_microusd(task, rendered)
    result: dict[str, Any] = {"cost_microusd": cost, "usage": usage}
    audit |= {"stop_reason": message.stop_reason[:MAX_NAME] if message else "", "max_tokens": task.max_tokens}
    if message and message.model:
        audit["model"] = message.model[:MAX_NAME]
    if reading.label:
        return Outcome(kind="succeeded", paid=True, result={"label": reading.label, **result}, audit=audit)
    return Outcome(kind="failed", reason=reading.reason, paid=True, result=result, audit=audit)


def _unread(verdict: Verdict, reply: Answer | NoAnswer, at_most: int, audit: dict[str, Any]) -> Outcome:
    match verdict.kind:
        case "failed":
            return Outcome(kind="failed", reason=verdict.reason, audit=audit)
        case "unknown":
            return Outcome(
                kind="unknown", reason=verdict.reason, paid=True, audit={**audit, "at_most_microusd": at_most}
            )
        case _:
            wait = reply.retry_after_s if isinstance(reply, Answer) else None
            return Outcome.released(verdict.reason, retry_after_s=wait, **audit)


class _RunContext:
    """Stands in for Lambda's context: the remaining time of whichever run is current."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((current_run().deadline - self._clock()) * 1000))
