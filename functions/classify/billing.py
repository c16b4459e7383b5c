"""What an answer, or the lack of one, means for money. Pure; the rules are the tables.

An exception's class decides nothing here (connect and read timeouts share one): only the status together with the
provider's own error body, or the cause of a failed connection. Whatever no line names may have been billed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from functions.classify.answers import parse_json

Cause = Literal["out_of_time", "not_connected", "timed_out", "connection_lost", "other"]
"""`out_of_time`: not sent, by our own decision. `not_connected`: no connection was made, so nothing was sent.
All others: sent, or perhaps sent."""

MAX_RETRY_AFTER_S = 3_600.0
"""A longer wait than this is not taken from a header."""
KEY_UNAVAILABLE = "llm_key_unavailable"
"""The secret holds no usable API key or may not be read, so nothing was sent."""
KEY_UNREAD = "llm_key_unread"
"""Secrets Manager did not answer this time, so nothing was sent."""


@dataclass(frozen=True)
class ApiError:
    """The provider's own error body: its broad type, its stable code (or an empty string) and its message."""

    type: str
    code: str
    message: str


@dataclass(frozen=True)
class Answer:
    """An HTTP answer, read to the end. `error` is set only where the body is an error of the provider's own."""

    status: int
    body: bytes
    request_id: str = ""
    retry_after_s: float | None = None
    error: ApiError | None = None


@dataclass(frozen=True)
class NoAnswer:
    """No complete answer came, because of `cause`."""

    cause: Cause


@dataclass(frozen=True)
class Verdict:
    """What becomes of the attempt: `read` the answer (it is paid), or `failed` | `released` | `unknown` with a reason.

    `pauses`: not this row's fault; every other row of the upload would meet the same.
    """

    kind: Literal["read", "failed", "released", "unknown"]
    reason: str = ""
    pauses: bool = False


READ = Verdict("read")
UNKNOWN_STATUS = Verdict("unknown", "llm_error_outcome_unknown")

BY_CAUSE: Mapping[Cause, Verdict] = {
    "out_of_time": Verdict("released", "out_of_time"),
    "not_connected": Verdict("released", "llm_connect_failed"),
    "timed_out": Verdict("unknown", "llm_timeout_outcome_unknown"),
    "connection_lost": Verdict("unknown", "llm_connection_lost_outcome_unknown"),
    "other": UNKNOWN_STATUS,
}

BAD_REQUEST = Verdict("failed", "llm_bad_request")
USAGE_LIMIT = Verdict("released", "llm_usage_limit", pauses=True)
SPEND_LIMIT = Verdict("released", "llm_spend_limit", pauses=True)
ACCOUNT = Verdict("released", "llm_account_refused", pauses=True)

BY_STATUS: Mapping[int, Verdict] = {
    400: BAD_REQUEST,
    413: BAD_REQUEST,
    422: BAD_REQUEST,
    401: Verdict("released", "llm_key_refused", pauses=True),
    402: Verdict("released", "llm_billing_refused", pauses=True),
    403: Verdict("released", "llm_permission_denied", pauses=True),
    404: Verdict("released", "llm_model_not_found", pauses=True),
    429: Verdict("released", "llm_rate_limited"),
    503: Verdict("released", "llm_unavailable"),
    529: Verdict("released", "llm_overloaded"),
}
"""Holds only together with the provider's own error body."""

BY_CODE: Mapping[tuple[int, str], Verdict] = {
    (429, "enforced_spend_limit_reached"): SPEND_LIMIT,
    (429, "contract_spend_limit_reached"): SPEND_LIMIT,
    # A 400 about the whole account, not about this row (anthropic 2.14, _error_classes.py).
    (400, "organization_on_hold"): ACCOUNT,
    (400, "cmek_key_disabled"): ACCOUNT,
    (400, "cmek_key_network_blocked"): ACCOUNT,
    (400, "ServiceQuotaExceededException"): USAGE_LIMIT,
    # Says itself that part of the work may have been done.
    (503, "change_outcome_unknown"): UNKNOWN_STATUS,
}

BY_MESSAGE: tuple[tuple[int, str, Verdict], ...] = (
    # The two limits that come as a 400 without a code of their own, so the wording has to do.
    (400, "usage limits", USAGE_LIMIT),
    (400, "credit balance is too low", Verdict("released", "llm_billing_refused", pauses=True)),
)

PAUSES: frozenset[str] = frozenset(
    verdict.reason
    for verdict in (*BY_STATUS.values(), *BY_CODE.values(), *(verdict for _, _, verdict in BY_MESSAGE))
    if verdict.pauses
) | {KEY_UNAVAILABLE}
"""Reason codes for which the upload is to be paused."""


def verdict_of(answer: Answer | NoAnswer) -> Verdict:
    if isinstance(answer, NoAnswer):
        return BY_CAUSE[answer.cause]
    if answer.status == 200:
        return READ
    error = answer.error
    if error is None:
        # Somebody else's body (a proxy's, a gateway's): what happened behind it is not known.
        return UNKNOWN_STATUS
    if by_code := BY_CODE.get((answer.status, error.code)):
        return by_code
    for status, words, verdict in BY_MESSAGE:
        if status == answer.status and words in error.message.casefold():
            return verdict
    return BY_STATUS.get(answer.status, UNKNOWN_STATUS)


def anthropic_error(body: bytes) -> ApiError | None:
    """Anthropic's error body, exactly: {"type": "error", "error": {"type": …, "message": …, "details"?: …}, …}."""
    answer = parse_json(body)
    error = answer.get("error") if isinstance(answer, dict) and answer.get("type") == "error" else None
    if not isinstance(error, dict):
        return None
    kind, message = error.get("type"), error.get("message")
    if not isinstance(kind, str) or not kind or not isinstance(message, str):
        return None
    return ApiError(type=kind, code=_error_code(error), message=message)


def bedrock_error(body: bytes, error_type: str) -> ApiError | None:
    """Amazon Bedrock's: {"message": …} with the exception's name in the header x-amzn-errortype."""
    answer = parse_json(body)
    message = answer.get("message") if isinstance(answer, dict) else None
    name = error_type.partition(":")[0].strip()
    return ApiError(type=name, code=name, message=message) if name and isinstance(message, str) else None


def retry_after_s(header: str | None, now: float) -> float | None:
    """Seconds to wait by a `retry-after` header (seconds, or an HTTP date against `now`), between 0 and the bound."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        seconds = _until_date(header, now)
    return min(max(seconds, 0.0), MAX_RETRY_AFTER_S) if math.isfinite(seconds) else None


def _until_date(text: str, now: float) -> float:
    try:
        return parsedate_to_datetime(text).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return math.nan


def _error_code(error: Mapping[str, Any]) -> str:
    details = error.get("details")
    code = details.get("error_code") if isinstance(details, dict) else None
    return code if isinstance(code, str) else ""
