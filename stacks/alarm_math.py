"""The expressions that alarms compare where one metric alone would stay silent, or would not come back to OK."""

from __future__ import annotations

import re

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs


def sent_to_dlq(rule: events.IRule, metric: str, period: Duration) -> cloudwatch.MathExpression:
    """`metric` ends in Dlq: AWS documents these names in both spellings, and CloudWatch is case-sensitive.

    A spelling that is never emitted has no data at all, so it is filled and summed as an array: a plain + of nothing
    is nothing.
    """
    return cloudwatch.MathExpression(
        expression="SUM([FILL(dlq, 0), FILL(upper, 0)])",
        using_metrics={
            "dlq": _of_rule(rule, metric, period),
            "upper": _of_rule(rule, f"{metric.removesuffix('Dlq')}DLQ", period),
        },
        period=period,
        label=metric,
    )


def runs(function: lambda_.IFunction, period: Duration) -> cloudwatch.MathExpression:
    """Invocations in a period, 0 where there were none.

    Lambda emits nothing for an idle function, and CloudWatch lets the last measured value count for periods after it
    is over; what is filled counts at once.
    """
    invocations = function.metric_invocations(period=period, statistic="Sum")
    return cloudwatch.MathExpression(
        expression="FILL(runs, 0)", using_metrics={"runs": invocations}, period=period, label="Invocations"
    )


def taken_where_any_wait(queue: sqs.IQueue, period: Duration) -> cloudwatch.MathExpression:
    """Messages received in a period in which messages waited; 1 in a period in which none did.

    The 0 comes from the number that wait: a queue that nothing ever received from has no such metric to fill.
    """
    return cloudwatch.MathExpression(
        expression="IF(waiting > 0, SUM([taken, waiting * 0]), 1)",
        using_metrics={
            "waiting": queue.metric_approximate_number_of_messages_visible(period=period, statistic="Minimum"),
            "taken": queue.metric_number_of_messages_received(period=period, statistic="Sum"),
        },
        period=period,
        label="Messages taken",
    )


def interval_of(schedule: events.Schedule) -> Duration:
    """The time between two runs. Raises ValueError for a schedule that is no rate: its silence could not be told."""
    found = re.fullmatch(r"rate\((\d+) (minute|hour|day)s?\)", schedule.expression_string)
    if found is None:
        raise ValueError(f"schedule {schedule.expression_string}: give a rate of minutes, hours or days.")
    number = int(found[1])
    return {"minute": Duration.minutes, "hour": Duration.hours, "day": Duration.days}[found[2]](number)


def _of_rule(rule: events.IRule, metric: str, period: Duration) -> cloudwatch.Metric:
    """For a rule on the default bus: its metrics then have the single dimension RuleName."""
    return cloudwatch.Metric(
        namespace="AWS/Events",
        metric_name=metric,
        dimensions_map={"RuleName": rule.rule_name},
        statistic="Sum",
        period=period,
    )
