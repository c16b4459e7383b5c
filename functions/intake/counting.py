"""What the business and its alarms are told of a decision on an object version. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from functions.intake.admission import Admitted, Decision, Rejected, Waiting

ADMITTED = "UploadsAdmitted"
WAITING = "UploadsWaiting"
REFUSED = "UploadsRefused"
DAY_CEILING = "DayCeilingReached"


def counts_of(decision: Decision, max_upload_microusd: int) -> Mapping[str, int]:
    """By metric; nothing for a version that changed nothing. `max_upload_microusd`: 0 is no ceiling."""
    match decision:
        case Admitted():
            return {ADMITTED: 1}
        case Waiting(upload):
            # Whatever its own ceiling does not hold back, the day's does.
            by_day = not 0 < max_upload_microusd < upload.worst_case_microusd
            return {WAITING: 1, DAY_CEILING: int(by_day)}
        case Rejected():
            return {REFUSED: 1}
        case _:
            return {}
