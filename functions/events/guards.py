"""Guards: which events a consumer must not act on, decided before anything is claimed or paid.

A guard that stops an event is not an error: the event is acknowledged, the stop is recorded and alerted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from functions.events.envelope import Envelope

StopReason = Literal["self_trigger", "hop_limit", "budget_closed"]


@dataclass(frozen=True, slots=True)
class Stop:
    """Why an event goes no further. `detail` is for a log line: numbers and states only."""

    reason: StopReason
    detail: str


def check(envelope: Envelope, *, me: str, max_hops: int, upload_state: str | None = None) -> Stop | None:
    """The first guard that stops this event, in the fixed order self-trigger, hop limit, budget; None lets it pass.

    `me` is the consumer's name without a version. `upload_state` is the correlation's state, read strongly consistently
    ("absent" when there is no such upload): its admission reservation is the budget, open only while it is running.
    None means that this consumer spends nothing.
    """
    if me in envelope.lineage:
        return Stop("self_trigger", f"sent after {envelope.hops} hops by or through this agent")
    if envelope.hops > max_hops:
        return Stop("hop_limit", f"{envelope.hops} hops, at most {max_hops}")
    if upload_state not in (None, "running"):
        return Stop("budget_closed", f"the upload is {upload_state}")
    return None
