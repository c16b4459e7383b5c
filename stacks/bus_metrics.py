"""What the Custom Event Bus reports about itself, read without the value of a dimension."""

from __future__ import annotations

from typing import Literal

from aws_cdk import aws_cloudwatch as cloudwatch

from stacks.alarms import MINUTE


def over_all_subscribers(metric: str, function: Literal["SUM", "MAX"] = "SUM") -> cloudwatch.MathExpression:
    """A metric of AWS/EventsV2 a minute, over every bus and subscriber of the account in this Region.

    AWS documents the value of EventBus once as the ARN and once as a name, and what reads a value that is never
    emitted sees nothing for ever. A Metrics Insights query needs the dimensions' names only. That it covers every bus
    of the account is what a person who is woken by it wants to know.
    """
    return cloudwatch.MathExpression(
        expression=f'SELECT {function}({metric}) FROM SCHEMA("AWS/EventsV2", EventBus, Subscriber)',  # noqa: S608 -- no SQL
        using_metrics={},
        period=MINUTE,
        label=metric,
    )
