"""What every way to call has in common: the use case as they see it, and what they count of its ends. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from functions.refunds.answer import Answer, Status
from functions.refunds.errors import KeyReusedError, RefundError
from functions.refunds.request import RefundRequest

DONE, FAILED, UNKNOWN = "RefundsDone", "RefundsFailed", "RefundsUnknown"
REFUSED, KEYS_REUSED, BUSY = "RefundsRefused", "KeysReused", "RefundsBusy"
MALFORMED, STOPPED, ERRORS = "EventsMalformed", "EventsStopped", "RefundErrors"
GIVEN_UP = "MessagesGivenUp"

COUNTED_AS: Mapping[Status, str] = {
    "done": DONE,
    "already_done": "RefundsRepeated",
    "not_started": "RefundsNotStarted",
    "in_progress": "RefundsInProgress",
    "unknown": UNKNOWN,
    "failed": FAILED,
}
"""Metric of each status."""

Told = Callable[[str, Mapping[str, str]], None]
"""Hears of every end: the metric's name, and ids and codes for a log line."""


class Run(Protocol):
    """`functions.refunds.refund.Refund.run`."""

    def __call__(self, request: RefundRequest, *, deadline: float) -> Answer: ...


class Paying:
    """Runs what callers send, and tells of every end."""

    def __init__(self, run: Run, told: Told) -> None:
        self._run = run
        self._told = told

    def __call__(self, given: object, *, deadline: float) -> Answer:
        """`given`: a decoded JSON object. Raises RefundError, whose `retryable` says whether to call again; other
        errors pass untold."""
        request_id = ""
        try:
            request = RefundRequest.parse(given)
            request_id = request.request_id
            answer = self._run(request, deadline=deadline)
        except RefundError as error:
            self._told(_counted_as(error), {"request_id": request_id, "reason": error.code})
            raise
        self._told(COUNTED_AS[answer.status], {"request_id": request_id, "reason": answer.reason})
        return answer


def _counted_as(error: RefundError) -> str:
    if isinstance(error, KeyReusedError):
        return KEYS_REUSED
    # What may be called again is no refusal: the money may have moved, and only the ledger was busy.
    return BUSY if error.retryable else REFUSED


def refusal(code: str, sentence: str) -> dict[str, Any]:
    """A refusal for a caller that reads results only, as a model does."""
    return {"status": "refused", "reason": code, "message": sentence}
