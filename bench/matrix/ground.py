"""The ground that all contenders stand on: the same rows, timers, faults and counts in a local cloud of one's own."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from bench.leads import HEADER, leads
from bench.matrix.contender import Fault, HandlerFault
from local.faults.plan import HandlerPlan, PointFault
from local.faults.request_hook import SENT
from local.options import LocalCloudOptions
from local.running import RunningCloud

CONTEXT: Mapping[str, str] = {
    "intake_timeout_s": "20",
    "stop_before_timeout_s": "5",
    "finish_timeout_s": "20",
    "max_receives": "5",
    "quiet_s": "3",
}
"""Timers short enough to wait for; those of the worker are the fault's own."""

MINUTE_S = 1.0
"""How long a minute of metrics and alarms lasts."""
PATIENCE_S = 900.0
"""A contender that still moves after that is reported as it stands."""
REST_S = 120.0
LOOK_S = 0.25


class MatrixError(Exception):
    """A line of the matrix could not be measured; the message says why."""


def rows_of(fault: Fault) -> str:
    """The CSV, header first: row n is "Lead n", six digits, and everybody is somebody else."""
    return "".join(leads(fault.rows))


def reversed_rows(text: str) -> str:
    """The same rows from the last to the first."""
    return HEADER + "".join(reversed(text.removeprefix(HEADER).splitlines(keepends=True)))


def options_of(
    fault: Fault, *, names: Mapping[str, str], hooks: Sequence[str], points: Mapping[str, str]
) -> LocalCloudOptions:
    """How the cloud is started. `names` are the contender's for the placeholders of `Fault.aws`, `points` those of its
    `hooks` for `before_send` and `answered`."""
    return LocalCloudOptions(
        minute_s=MINUTE_S,
        claude_rules=fault.claude,
        context={**CONTEXT, **fault.context},
        service_faults=[_named(rule, names) for rule in fault.aws],
        handler_faults=_plan(fault.handler, hooks, points) if fault.handler else None,
    )


def refuse_uninjected(cloud: RunningCloud, fault: Fault) -> None:
    """A fault that never came was not survived. Raises MatrixError."""
    for kind, hits in cloud.injected().items():
        if 0 in hits:
            raise MatrixError(f"{fault.name}: {kind} fault {hits.index(0) + 1} was never injected")


def alarms_at_rest(cloud: RunningCloud) -> Mapping[str, int]:
    """Wait until every alarm is OK, and tell how often each has gone off by then: one that misses what has not begun
    yet is on after every deployment. Raises MatrixError."""
    deadline = time.monotonic() + REST_S
    while noisy := [name for name, state in cloud.alarms().items() if state != "OK"]:
        if time.monotonic() > deadline:
            raise MatrixError(f"before any fault, after {REST_S:.0f} s, these alarms are not OK: {', '.join(noisy)}")
        time.sleep(LOOK_S)
    return cloud.alarms_fired()


def alarms_of(cloud: RunningCloud, before: Mapping[str, int]) -> list[str]:
    """Names of those that went to ALARM since `before`, once the last failure has had its two minutes to be seen."""
    time.sleep(2 * MINUTE_S)
    return sorted(name for name, times in cloud.alarms_fired().items() if times > before.get(name, 0))


def _named(rule: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    when = {member: _in_place(value, names) for member, value in rule["when"].items()}
    return {**rule, "when": when}


def _in_place(value: str, names: Mapping[str, str]) -> str:
    for placeholder, name in names.items():
        value = value.replace(f"<{placeholder}>", name)
    return value


def _plan(fault: HandlerFault, hooks: Sequence[str], points: Mapping[str, str]) -> HandlerPlan:
    point = {"sent": SENT, **points}[fault.at]
    # Under a client's hands any other exception would be taken for the transport's.
    does = "abort" if (fault.at, fault.does) == ("sent", "raise") else fault.does
    return HandlerPlan(
        hooks=[*hooks, "local.faults.request_hook"],
        faults=[PointFault.model_validate({"point": point, "does": does, "times": fault.times})],
    )
