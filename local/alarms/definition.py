"""An alarm as its template or `DescribeAlarms` words it, read once: what it watches, and when that is too much."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from local.alarms.datapoints import MINUTE_S, STATISTICS, Metric
from local.alarms.expressions import ExpressionError, Math, Query, is_query, parse_math, parse_query

MISSING = ("missing", "ignore", "breaching", "notBreaching")
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThanOrEqualToThreshold": operator.ge,
    "GreaterThanThreshold": operator.gt,
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
}


@dataclass(frozen=True)
class Measured:
    """One metric with its statistic."""

    metric: Metric
    statistic: str


Source = Measured | Query | Math
"""What gives a series: a metric, a query over many, or an expression over other sources."""


@dataclass(frozen=True)
class Definition:
    """`sources` by id; `watched` is the id of the one that is compared. `period_s` is the period of them all."""

    sources: Mapping[str, Source]
    watched: str
    period_s: int
    evaluation_periods: int
    datapoints_to_alarm: int
    comparison: str
    threshold: float
    missing: str


def read_alarm(properties: Mapping[str, Any]) -> Definition:
    """Raises ExpressionError for what the local cloud does not evaluate."""
    metrics = properties.get("Metrics")
    sources, watched, period_s = _of_metrics(metrics) if metrics else _of_one(properties)
    if period_s % MINUTE_S:
        raise ExpressionError(f"The local cloud evaluates periods of whole minutes, not of {period_s} s.")
    periods = int(properties["EvaluationPeriods"])
    return Definition(
        sources,
        watched,
        period_s,
        periods,
        int(properties.get("DatapointsToAlarm") or periods),
        _one_of(properties["ComparisonOperator"], COMPARISONS),
        float(properties["Threshold"]),
        _one_of(properties.get("TreatMissingData") or "missing", MISSING),
    )


def _one_of(given: str, known: Collection[str]) -> str:
    if given not in known:
        raise ExpressionError(f"The local cloud does not evaluate alarms with {given}.")
    return given


def _of_one(properties: Mapping[str, Any]) -> tuple[dict[str, Source], str, int]:
    return {"metric": _measured(properties, properties["Statistic"])}, "metric", int(properties["Period"])


def _of_metrics(metrics: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Source], str, int]:
    sources: dict[str, Source] = {}
    periods: set[int] = set()
    for each in metrics:
        stat = each.get("MetricStat")
        sources[each["Id"]] = _measured(stat["Metric"], stat["Stat"]) if stat else _expression(each["Expression"])
        period = stat["Period"] if stat else each.get("Period")
        periods |= {int(period)} if period else set()
    watched = [each["Id"] for each in metrics if each.get("ReturnData", True)]
    if len(watched) != 1 or len(periods) != 1:
        raise ExpressionError("The local cloud evaluates alarms with one returned series and one period.")
    measured = {each for each, source in sources.items() if isinstance(source, Measured)}
    for source in sources.values():
        if isinstance(source, Math) and not source.ids <= measured:
            raise ExpressionError("The local cloud evaluates expressions over metrics of the same alarm alone.")
    return sources, watched[0], periods.pop()


def _measured(metric: Mapping[str, Any], statistic: str) -> Measured:
    if statistic not in STATISTICS:
        raise ExpressionError(f"The local cloud does not evaluate the statistic {statistic}.")
    dimensions = {each["Name"]: each["Value"] for each in metric.get("Dimensions") or ()}
    return Measured(Metric.of(metric["Namespace"], metric["MetricName"], dimensions), statistic)


def _expression(text: str) -> Source:
    return parse_query(text) if is_query(text) else parse_math(text)
