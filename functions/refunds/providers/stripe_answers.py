"""What an answer of Stripe's, or the lack of one, means for money. Pure; the rules are the tables.

An exception's class decides nothing here: only the status together with Stripe's own error body, or the cause of a
failed connection. Whatever no line names may have happened. Sources: docs.stripe.com/api/idempotent_requests and
docs.stripe.com/error-low-level (a 500 is indeterminate; every answer of an executed request is kept with its key, a 400
included, so the same key never gets another one).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from functions.refunds.model import Action
from functions.refunds.providers.protocol import Absent, CannotTell, Found, LookUp, Reply
from functions.refunds.providers.stripe_amounts import stripe_amount

Cause = Literal["out_of_time", "not_connected", "timed_out", "connection_lost", "other"]
"""`out_of_time`: not sent, by our own decision. `not_connected`: no connection was made, so nothing was sent.
All others: sent, or perhaps sent."""

REFERENCE = "request_id"
"""The metadata of a refund under which our reference stands."""
_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")
_MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer, read to the end."""

    status: int
    body: bytes
    provider_request_id: str = ""
    retry_after: str = ""


UNKNOWN_ANSWER = Reply("unknown", "provider_error_outcome_unknown")

BY_CAUSE: Mapping[Cause, Reply] = {
    "out_of_time": Reply("released", "out_of_time"),
    "not_connected": Reply("released", "provider_connect_failed"),
    "timed_out": Reply("unknown", "provider_timeout_outcome_unknown"),
    "connection_lost": Reply("unknown", "provider_connection_lost_outcome_unknown"),
    "other": UNKNOWN_ANSWER,
}

BY_STATUS: Mapping[int, Reply] = {
    400: Reply("failed", "provider_refused"),
    402: Reply("failed", "provider_refused"),
    404: Reply("failed", "provider_refused"),
    # The account's fault and not the refund's: it is paid when somebody has mended the key or its permissions.
    401: Reply("released", "provider_key_refused"),
    403: Reply("released", "provider_permission_denied"),
    # Limits are checked before the request is executed, and before its key is looked up.
    429: Reply("released", "provider_rate_limited"),
    # Another request with this key is being executed: ours of before, whose end nobody has seen.
    409: Reply("unknown", "provider_busy_with_this_key"),
}
"""Holds only together with Stripe's own error body."""

ANOTHER_REFUND = Reply("unknown", "another_refund_made")
"""Something was paid, but not what was approved: a look finds the same, and a person decides."""

KEY_REUSED = Reply("failed", "key_reused_at_provider", paid=True)
"""The key was executed with other parameters: something was paid under it, but not what was approved here."""

STANDINGS: Mapping[str, Reply] = {
    "succeeded": Reply("succeeded"),
    # On its way; Stripe tells later of the few that fail.
    "pending": Reply("succeeded"),
    "requires_action": Reply("succeeded"),
    "failed": Reply("failed", "refund_failed"),
    "canceled": Reply("failed", "refund_canceled"),
}
"""What the status of a refund object means (docs.stripe.com/api/refunds/object)."""


def reply_of(answer: Answer | Cause) -> Reply:
    if not isinstance(answer, Answer):
        return BY_CAUSE[answer]
    reply = _read(answer)
    wait = answer.retry_after if reply.kind == "released" and answer.retry_after.isdecimal() else ""
    return replace(
        reply,
        provider_request_id=answer.provider_request_id[:_MAX_NAME],
        retry_after_s=float(wait[:5]) if wait else None,
    )


def reply_for(action: Action, answer: Answer) -> Reply:
    """The same, of a refund that was made: believed only where it is the approved one. The request names no currency,
    so Stripe takes the amount in the payment's, whatever was recorded of the order.
    """
    reply = reply_of(answer)
    if not reply.refund_id or _is_approved(action, _object(answer.body)):
        return reply
    return replace(ANOTHER_REFUND, provider_request_id=reply.provider_request_id)


def _is_approved(action: Action, refund: Mapping[str, Any]) -> bool:
    approved = (stripe_amount(action.amount_minor, action.currency), action.currency.lower())
    return (refund.get("amount"), refund.get("currency")) == approved


def _read(answer: Answer) -> Reply:
    body = _object(answer.body)
    if 200 <= answer.status < 300:
        return reply_of_refund(body)
    error = body.get("error")
    if not isinstance(error, dict) or not isinstance(error.get("type"), str):
        # Somebody else's body (a proxy's, a gateway's): what happened behind it is not known.
        return UNKNOWN_ANSWER
    # 409 first: a key in use is an error of the same type as a reused one.
    if error["type"] == "idempotency_error" and answer.status != 409:
        return KEY_REUSED
    reply = BY_STATUS.get(answer.status, UNKNOWN_ANSWER)
    code = error.get("code")
    if reply.kind == "failed" and isinstance(code, str) and _CODE.fullmatch(code):
        return replace(reply, reason=f"{reply.reason}_{code}")
    return reply


def reply_of_refund(body: Mapping[str, Any]) -> Reply:
    """From a refund object."""
    name, status = body.get("id"), body.get("status")
    if not isinstance(name, str) or not name or not isinstance(status, str) or status not in STANDINGS:
        return UNKNOWN_ANSWER
    return replace(STANDINGS[status], refund_id=name[:_MAX_NAME], standing=status)


def look_up_among(action: Action, refunds: Sequence[Mapping[str, Any]]) -> LookUp:
    """From all refunds of the payment."""
    carried = [refund.get("metadata") or {} for refund in refunds]
    if not all(isinstance(each, Mapping) for each in carried):
        # Whose refund it is cannot be told, so neither can that ours is not there.
        return CannotTell("unreadable_refund_found")
    ours = [
        refund
        for refund, metadata in zip(refunds, carried, strict=True)
        if metadata.get(REFERENCE) == action.request_id
    ]
    if not ours:
        return Absent()
    if len(ours) > 1:
        return CannotTell("several_refunds_found")
    [refund] = ours
    if not _is_approved(action, refund):
        return CannotTell("another_refund_found")
    reply = reply_of_refund(refund)
    return CannotTell("unreadable_refund_found") if reply.kind == "unknown" else Found(reply)


def _object(body: bytes) -> dict[str, Any]:
    try:
        decoded = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return decoded if isinstance(decoded, dict) else {}
