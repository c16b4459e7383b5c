"""What belongs to no worker: the alarms on what the Custom Event Bus itself reports, and the business's dashboard."""

from __future__ import annotations

from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_sns as sns
from constructs import Construct

from stacks.alarms import Alarms
from stacks.bus_metrics import over_all_subscribers
from stacks.dashboards import business_dashboard
from stacks.settings import Settings

BUS_FAILURES = {
    "OnFailureDestinationDelivered": (
        "bus-sent-to-dlq",
        "A subscriber of a Custom Event Bus gave events up and recorded them in its dead-letter queue.",
        "Look which dead-letter queue of a subscriber holds messages; its own alarm says what to read there.",
    ),
    "OnFailureDestinationFailed": (
        "bus-dlq-not-writable",
        "A Custom Event Bus could not write to a subscriber's dead-letter queue: the record of failed events is lost.",
        "Mend the delivery role of the subscriber that the metric's dimension names; the bus still has the events.",
    ),
    "EventsDropped": (
        "bus-dropped",
        "A Custom Event Bus dropped events: a subscriber gave them up and has no dead-letter queue.",
        "Find the subscriber by the metric's dimension, give it a dead-letter queue and mend its target.",
    ),
}
"""Metric of AWS/EventsV2 -> its alarm's name, which failure it is for, what to do first."""


class ObservabilityStack(Stack):
    def __init__(
        self, scope: Construct, construct_id: str, *, settings: Settings, alerts: sns.ITopic, **kwargs: Any
    ) -> None:
        super().__init__(scope, construct_id, **kwargs)
        alarms = Alarms(self, "Alarms", prefix=settings.name, topic=alerts)
        for metric, (name, failure, first) in BUS_FAILURES.items():
            alarms.add(name, over_all_subscribers(metric), failure=failure, first=first)
        business_dashboard(self, settings.name)
