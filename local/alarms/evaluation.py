"""In which state an alarm is, by what was measured.

Source: the CloudWatch user guide, "Alarm evaluation" and "Configuring how CloudWatch alarms treat missing data".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from local.alarms.datapoints import Datapoints, Series
from local.alarms.definition import COMPARISONS, Definition, Measured
from local.alarms.expressions import Math, Query, compute

State = Literal["OK", "ALARM", "INSUFFICIENT_DATA"]

RANGE_BEYOND = 2
"""Periods CloudWatch looks at beyond the evaluation periods (the guide's examples: five for three). So what was
measured counts for as long as nothing newer is: an alarm stays on for a few minutes after the one failure."""


def values_of(definition: Definition, datapoints: Datapoints, now: float) -> Series:
    """What the alarm compares, for each period of its evaluation range that is over; the oldest first."""
    last = now // definition.period_s * definition.period_s
    reach = definition.evaluation_periods + RANGE_BEYOND
    ends = [last - definition.period_s * back for back in reversed(range(reach))]
    return _series(definition, definition.watched, datapoints, ends)


def next_state(definition: Definition, values: Sequence[float | None], current: State) -> State:
    """The state that these values put an alarm into which is in `current`."""
    beyond = COMPARISONS[definition.comparison]
    present = [beyond(value, definition.threshold) for value in values if value is not None]
    # Of what was measured the newest decides, however old; what is missing counts only where that is not enough.
    present = present[-definition.evaluation_periods :]
    absent = definition.evaluation_periods - len(present)
    if absent and definition.missing in {"missing", "ignore"}:
        return _without_filling(definition, present, current)
    breaching = sum(present) + (absent if definition.missing == "breaching" else 0)
    return "ALARM" if breaching >= definition.datapoints_to_alarm else "OK"


def _without_filling(definition: Definition, present: Sequence[bool], current: State) -> State:
    if not present:
        return "INSUFFICIENT_DATA" if definition.missing == "missing" else current
    if sum(present) >= definition.datapoints_to_alarm:
        return "ALARM"
    if all(present):
        # Too few, but all there are: "missing" takes them for enough, "ignore" waits.
        return "ALARM" if definition.missing == "missing" else current
    return "OK"


def _series(definition: Definition, source_id: str, datapoints: Datapoints, ends: Sequence[float]) -> Series:
    match definition.sources[source_id]:
        case Measured(metric, statistic):
            return datapoints.series([metric], statistic, ends, definition.period_s)
        case Query(statistic, namespace, name, dimension_names):
            found = datapoints.matching(namespace, name, dimension_names)
            return datapoints.series(found, statistic, ends, definition.period_s)
        case Math(_, ids) as math:
            return compute(math, {each: _series(definition, each, datapoints, ends) for each in ids})
