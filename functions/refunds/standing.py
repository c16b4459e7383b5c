"""Where an intent stands, and what may be done about it: pure rules over the action and the record of its effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from functions.effects.record import EffectRecord
from functions.effects.states import State
from functions.refunds.errors import DeniedError, KeyReusedError, NotApprovedError
from functions.refunds.model import Action
from functions.refunds.request import RefundRequest

Standing = Literal["denied", "not_started", "intended", "done", "failed", "unknown"]


_OPEN_RECORDS: Mapping[State, Standing] = {
    State.CLAIMED: "intended",
    State.UNKNOWN: "unknown",
    State.RELEASED: "not_started",
}


def standing_of(action: Action, record: EffectRecord | None) -> Standing:
    """`not_started` also where an attempt ended certainly unpaid."""
    if action.decision == "DENY":
        return "denied"
    if action.result == "refunded":
        # The ledger has the refund's row, whatever the record's owner came to say of it.
        return "done"
    if record is None:
        return "not_started"
    if record.state is State.DONE:
        return "done" if record.reply.kind == "succeeded" else "failed"
    return _OPEN_RECORDS[record.state]


def approved(request: RefundRequest, action: Action | None) -> Action:
    """The action, if the request means exactly it and it was confirmed.

    Raises NotApprovedError, KeyReusedError and DeniedError.
    """
    if action is None:
        raise NotApprovedError(request.request_id)
    if not action.stands_for(request):
        raise KeyReusedError(request.request_id)
    # The decision and not the state: whoever executes may close an action, but no role that executes can decide.
    if action.decision != "CONFIRM":
        raise DeniedError(request.request_id)
    return action


def must_ask_first(attempt: int, age_s: float, keys_retention_s: float | None, *, doubted: bool) -> bool:
    """Whether a further attempt asks the provider before it sends.

    `age_s`: since the approval, which no attempt precedes, by the clocks of two machines. While the provider keeps the
    key of the first attempt, a repeat cannot pay twice; after that only a look can tell. `doubted`: an earlier attempt
    was sent and is believed absent; that belief is not left to the clocks.
    """
    return attempt > 1 and keys_retention_s is not None and (doubted or age_s >= keys_retention_s)


def absence_is_proof(record: EffectRecord, now: float, settle_s: float) -> bool:
    """Whether "there is none" may be believed: nobody is still sending, and the provider had time to end what was
    sent."""
    return now >= record.lease_until + settle_s
