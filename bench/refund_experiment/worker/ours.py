"""Our deployed handlers, followed call by call, with the crash points of their code armed by the experiment's plan.

The handlers are the shipped ones. Followed is the one place that every way to call passes: `Paying`.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from functions import crash_points
from functions.refunds.adapters.paying import Paying
from functions.refunds.answer import Answer

from .faults import arrived, following

ANSWERED = "answered"
"""The point after the use case, before its answer is anybody's."""

_ARMED = ExitStack()
# Held for as long as the process lives.
_ARMED.enter_context(crash_points.armed(arrived))

_pay = Paying.__call__


def _followed(self: Paying, given: Any, *, deadline: float) -> Answer:
    with following(given["request_id"]):
        answer = _pay(self, given, deadline=deadline)
        arrived(ANSWERED)
        return answer


Paying.__call__ = _followed  # type: ignore[method-assign]
