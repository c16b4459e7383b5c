"""The rules of alarms: the user guide's own tables, what an expression makes of missing values, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from local.alarms.datapoints import KEPT_MINUTES, MINUTE_S, Datapoints, Metric
from local.alarms.definition import read_alarm
from local.alarms.embedded import embedded_metrics
from local.alarms.evaluation import RANGE_BEYOND, State, next_state, values_of
from local.alarms.expressions import ExpressionError, Query, compute, parse_math, parse_query

ERRORS = Metric.of("AWS/Lambda", "Errors", {"FunctionName": "f"})
START = 1_000 * MINUTE_S


def alarm(**changes: Any) -> dict[str, Any]:
    of_one = {
        "Namespace": ERRORS.namespace,
        "MetricName": ERRORS.name,
        "Dimensions": [{"Name": "FunctionName", "Value": "f"}],
        "Statistic": "Sum",
        "Period": 60,
        "EvaluationPeriods": 1,
        "Threshold": 1,
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "TreatMissingData": "notBreaching",
    }
    return {**of_one, **changes}


def of_math(*metrics: dict[str, Any], **changes: Any) -> dict[str, Any]:
    gone = dict.fromkeys(("Namespace", "MetricName", "Dimensions", "Statistic", "Period"))
    return {**alarm(**gone), "Metrics": list(metrics), **changes}


# The guide's tables, "How alarm state is evaluated when data is missing": three periods, five looked at.
THREE_OF_THREE = [
    ("0 - X - X", ("OK", "OK", "OK", "OK")),
    ("- - - - 0", ("OK", "OK", "OK", "OK")),
    ("- - - - -", ("INSUFFICIENT_DATA", "RETAIN", "ALARM", "OK")),
    ("0 X X - X", ("ALARM", "ALARM", "ALARM", "ALARM")),
    ("- - X - -", ("ALARM", "RETAIN", "ALARM", "OK")),
]
TWO_OF_THREE = [
    ("0 - X - X", ("ALARM", "ALARM", "ALARM", "ALARM")),
    ("0 0 X 0 X", ("ALARM", "ALARM", "ALARM", "ALARM")),
    ("0 - X - -", ("OK", "OK", "ALARM", "OK")),
    ("- - - - 0", ("OK", "OK", "ALARM", "OK")),
    ("- - - - X", ("ALARM", "RETAIN", "ALARM", "OK")),
]
TREATMENTS = ("missing", "ignore", "breaching", "notBreaching")


@pytest.mark.parametrize("current", ["OK", "ALARM", "INSUFFICIENT_DATA"])
@pytest.mark.parametrize(
    ("needed", "seen", "states"),
    [(3, *row) for row in THREE_OF_THREE] + [(2, *row) for row in TWO_OF_THREE],
)
def test_the_examples_of_the_guide(needed: int, seen: str, states: tuple[str, ...], current: State) -> None:
    values = [{"0": 0.0, "X": 1.0, "-": None}[each] for each in seen.split()]
    for treatment, state in zip(TREATMENTS, states, strict=True):
        definition = read_alarm(alarm(EvaluationPeriods=3, DatapointsToAlarm=needed, TreatMissingData=treatment))
        assert next_state(definition, values, current) == (current if state == "RETAIN" else state), treatment


def test_a_metric_with_other_dimensions_is_another_metric() -> None:
    datapoints = Datapoints()
    for other in ({}, {"FunctionName": "g"}, {"FunctionName": "f", "Resource": "f"}):
        datapoints.add(Metric.of("AWS/Lambda", "Errors", other), 1, START)
    datapoints.add(Metric.of("AWS/Lambda", "errors", {"FunctionName": "f"}), 1, START)
    assert values_of(read_alarm(alarm()), datapoints, START + MINUTE_S) == [None] * (1 + RANGE_BEYOND)


def test_only_periods_that_are_over_count_and_each_holds_what_was_measured_in_it() -> None:
    datapoints = Datapoints()
    for at, value in ((START, 1), (START + 59.9, 2), (START + 60, 4), (START + 179, 8)):
        datapoints.add(ERRORS, value, at)
    definition = read_alarm(alarm())
    assert values_of(definition, datapoints, START + 59.9) == [None, None, None]
    assert values_of(definition, datapoints, START + 60) == [None, None, 3.0]
    assert values_of(definition, datapoints, START + 185) == [3.0, 4.0, 8.0]
    five = read_alarm(alarm(Period=300))
    assert values_of(five, datapoints, START + 300)[-1] == 15.0


@pytest.mark.parametrize(
    ("statistic", "value"), [("Sum", 9), ("Average", 3), ("Minimum", 1), ("Maximum", 6), ("SampleCount", 3)]
)
def test_statistics_are_over_the_samples_of_a_period(statistic: str, value: float) -> None:
    datapoints = Datapoints()
    datapoints.add(ERRORS, 6, START)
    datapoints.add(ERRORS, 2, START + 61)
    datapoints.add(ERRORS, 1, START + 62)
    definition = read_alarm(alarm(Period=120, Statistic=statistic))
    assert values_of(definition, datapoints, START + 120)[-1] == value


def test_what_is_a_day_old_is_forgotten() -> None:
    datapoints = Datapoints()
    for minute in range(KEPT_MINUTES + 1):
        datapoints.add(ERRORS, 1, START + minute * MINUTE_S)
    assert datapoints.series([ERRORS], "Sum", [START + MINUTE_S, START + 2 * MINUTE_S], MINUTE_S) == [None, 1.0]


A, B, NOTHING = [1.0, None, 3.0], [10.0, 20.0, None], [None, None, None]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a + b", [11.0, None, None]),
        ("a / (a - 1)", [None, None, 1.5]),
        ("FILL(a, 0) + FILL(b, 0.5)", [11.0, 20.0, 3.5]),
        # A metric that was never emitted has nothing to fill, and takes everything with it but a sum of an array.
        ("FILL(a, 0) + FILL(nothing, 0)", NOTHING),
        ("SUM([FILL(a, 0), FILL(nothing, 0)])", [1.0, 0.0, 3.0]),
        ("SUM([a, b])", [11.0, 20.0, 3.0]),
        ("IF(a > 2, b, 7)", [7.0, None, None]),
        ("IF(b >= 20, a * 2, SUM([nothing, b * 0]))", [0.0, None, None]),
    ],
)
def test_metric_math(text: str, value: list[float | None]) -> None:
    assert compute(parse_math(text), {"a": A, "b": B, "nothing": NOTHING}) == value


@pytest.mark.parametrize(
    "text",
    ["RATE(a)", "FILL(a)", "FILL(a, REPEAT)", "SUM(a)", "a[0]", "[a, b]", "1 + 1", "a +", "a and b", "IF(1, a, b)"],
)
def test_an_expression_that_is_not_evaluated_is_refused_when_it_is_read(text: str) -> None:
    with pytest.raises(ExpressionError):
        parse_math(text)


def test_a_query_reads_every_metric_of_its_name_with_its_dimensions() -> None:
    datapoints = Datapoints()
    for dimensions, value in (({"Bus": "a", "To": "x"}, 1), ({"Bus": "b", "To": "y"}, 2), ({"Bus": "b"}, 4)):
        datapoints.add(Metric.of("Ours", "Lost", dimensions), value, START)
    for text, total in (
        ('SCHEMA("Ours", Bus, To)', 3),
        ('SCHEMA("Ours", Bus)', 4),
        ('SCHEMA("Ours")', None),
        ('"Ours"', 7),
    ):
        query = {"Id": "q", "Expression": " ".join(("SELECT SUM(Lost) FROM", text)), "Period": 60}
        assert values_of(read_alarm(of_math(query)), datapoints, START + MINUTE_S)[-1] == total


def test_what_a_query_may_say() -> None:
    assert parse_query('SELECT MAX(Age) FROM "Ours"') == Query("Maximum", "Ours", "Age", None)
    for text in ('SELECT SUM(a) FROM "Ours" WHERE x = 1', 'SELECT SUM(a) FROM "Ours" GROUP BY x', "SELECT a"):
        with pytest.raises(ExpressionError, match="more than the local cloud evaluates"):
            parse_query(text)


@pytest.mark.parametrize(
    "changes",
    [
        {"Period": 10},
        {"Statistic": "p99"},
        {"ComparisonOperator": "LessThanLowerThreshold"},
        {"TreatMissingData": "maybe"},
        {"Metrics": [{"Id": "a", "Expression": "b + 1", "Period": 60}]},
        {"Metrics": [{"Id": "a", "Expression": 'SELECT SUM(x) FROM "y"'}]},
    ],
)
def test_an_alarm_that_is_not_evaluated_is_refused_in_a_sentence(changes: dict[str, Any]) -> None:
    with pytest.raises(ExpressionError, match=r"^[A-Z].*\.$"):
        read_alarm(alarm(**changes))


def test_what_a_function_writes_into_its_log_is_measured() -> None:
    line = (
        '{"_aws":{"Timestamp":1,"CloudWatchMetrics":[{"Namespace":"Ours","Dimensions":[["service"]],'
        '"Metrics":[{"Name":"Rows","Unit":"Count"},{"Name":"Cost"}]}]},"service":"classify","Rows":[2,3],"Cost":7.5}'
    )
    log = f'{{"level":"INFO"}}\n{line}\nnot "_aws" at all\n{{"_aws" broken\n["_aws"]\n'
    rows, cost = (Metric.of("Ours", name, {"service": "classify"}) for name in ("Rows", "Cost"))
    assert list(embedded_metrics(log)) == [(rows, 2.0), (rows, 3.0), (cost, 7.5)]
    assert list(embedded_metrics("")) == []
