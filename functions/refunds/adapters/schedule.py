"""By schedule: one pass of the reconciler, and what of it a person must hear."""

from __future__ import annotations

from collections import Counter

from functions.refunds.adapters.paying import COUNTED_AS, UNKNOWN, Told
from functions.refunds.reconcile import Looked, Reconciled, Reconciler, Verdict

UNKNOWN_TOO_LONG, NOT_BEGUN, JOINED = "RefundsUnknownTooLong", "RefundsNotBegun", "RefundsJoined"
CUT, LOOK_FAILED = "PassesCut", "LooksFailed"
QUIET: frozenset[Verdict] = frozenset({"waiting", "in_progress", "settling", "moved"})
"""Nothing became of these, and nothing has to."""


class PassFailedError(Exception):
    """Open refunds could not be looked at; every other one was, and the next pass tries these again."""


class Pass:
    """`unknown_alarm_s`: how long a refund may be unknown before somebody is told."""

    def __init__(self, reconciler: Reconciler, told: Told, *, unknown_alarm_s: float) -> None:
        self._reconciler = reconciler
        self._told = told
        self._unknown_alarm_s = unknown_alarm_s

    def run(self, *, deadline: float) -> dict[str, int]:
        """How many open refunds ended their look how. Raises PassFailedError."""
        reconciled = self._reconciler.run(deadline=deadline)
        for looked in reconciled.looked:
            self._tell(looked)
        if not reconciled.complete:
            self._told(CUT, {})
        return _without_failures(reconciled)

    def _tell(self, looked: Looked) -> None:
        known = {"request_id": looked.request_id, "verdict": looked.verdict, "reason": looked.reason}
        if looked.verdict not in QUIET:
            self._told(_metric_of(looked), known)
        if looked.unknown_s > self._unknown_alarm_s:
            self._told(UNKNOWN_TOO_LONG, known)


def _metric_of(looked: Looked) -> str:
    match looked.verdict:
        case "run" if looked.status == "not_started":
            return NOT_BEGUN
        case "run" if looked.status is not None:
            return COUNTED_AS[looked.status]
        case "closed" | "found":
            return JOINED
        case "error":
            return LOOK_FAILED
        case _:
            return UNKNOWN


def _without_failures(reconciled: Reconciled) -> dict[str, int]:
    counts: Counter[str] = Counter(looked.verdict for looked in reconciled.looked)
    if counts["error"]:
        raise PassFailedError(f"{counts['error']} of {len(reconciled.looked)} open refunds could not be looked at")
    return dict(counts)
