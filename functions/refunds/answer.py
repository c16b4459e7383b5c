"""What a caller is told of a refund: where it stands, in one word and one sentence. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from functions.effects.outcomes import Outcome
from functions.effects.record import EffectRecord
from functions.effects.states import State
from functions.refunds.model import Action
from functions.refunds.money import money

Status = Literal["done", "already_done", "not_started", "in_progress", "unknown", "failed"]

RETRYABLE: frozenset[Status] = frozenset({"not_started", "in_progress"})
"""The same call with the same request_id may be repeated. `unknown` is left to the reconciler or a person."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`status`:

    done          this call paid the refund
    already_done  it was paid by an earlier call; nothing was done
    not_started   nothing was paid, and the same call may be repeated after `retry_after_s` seconds
    in_progress   another call is paying it; the same call may be repeated after `retry_after_s` seconds
    unknown       it may have been paid; it is not sent again before that is known
    failed        the provider refused it for good; nothing was paid unless `reason` says so

    `refund_id` is the provider's, empty unless the refund happened; `reason` a code, empty where it did.
    """

    status: Status
    request_id: str
    refund_id: str
    reason: str
    retry_after_s: int
    message: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


_SAYS: dict[Status, str] = {
    "done": "{money} of the order {order} are refunded.",
    "already_done": "{money} of the order {order} were refunded before; nothing was done again.",
    "not_started": "Nothing was paid ({reason}); call again with the same request_id.",
    "in_progress": "Another call is paying this refund; call again with the same request_id.",
    "unknown": "It is not known yet whether the refund was paid ({reason}); it is not sent again before that is known.",
    "failed": "The refund failed for good ({reason}); a new one needs a new approval.",
}


def answer_of(action: Action, record: EffectRecord, *, fresh: bool, now: float) -> Answer:
    """The answer that a stored record gives. `fresh`: this call made the attempt."""
    status = _status(record, fresh=fresh)
    # A claimed record holds the outcome of no attempt.
    outcome = record.outcome or Outcome.succeeded({})
    wait = round(record.lease_until - now) + 1 if status == "in_progress" else outcome.retry_after_s or 0
    return Answer(
        status=status,
        request_id=action.request_id,
        refund_id=str(outcome.result.get("refund_id", "")),
        reason=outcome.reason,
        retry_after_s=max(0, wait),
        message=_SAYS[status].format(
            money=money(action.amount_minor, action.currency), order=action.order_id, reason=outcome.reason
        ),
    )


def _status(record: EffectRecord, *, fresh: bool) -> Status:
    match record.state:
        case State.DONE:
            if record.reply.kind != "succeeded":
                return "failed"
            return "done" if fresh else "already_done"
        case State.UNKNOWN:
            return "unknown"
        case State.CLAIMED:
            return "in_progress"
        case _:
            return "not_started"
