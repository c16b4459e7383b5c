"""A cloud that runs: clients of it, and what it counts."""

from __future__ import annotations

import json
import urllib.request
from collections import Counter
from collections.abc import Mapping
from typing import Any

from local.clients import Clients
from local.errors import LocalCloudError
from local.outbox import Notice

_DEAD_LETTERS = "DeadLetterQueues"
"""How the outputs that list them end, one a stack with workers."""
_HISTORY = "AlarmHistoryItems"
_DEPTHS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


class RunningCloud:
    """A local cloud at `endpoint`. `stand_in`: whether the Claude stand-in answers its handlers."""

    def __init__(self, endpoint: str, outputs: Mapping[str, str], *, stand_in: bool) -> None:
        self.endpoint = endpoint
        self.outputs = outputs
        self._stand_in = stand_in
        self._clients = Clients(endpoint)

    @property
    def model_requests(self) -> int | None:
        """Requests the stand-in read to the end; None when something else answers."""
        return self._count("model_requests")

    @property
    def billed_requests(self) -> int | None:
        """Those of them not answered with an error that costs nothing; None when something else answers."""
        return self._count("billed_requests")

    def model_counts(self) -> dict[str, int]:
        """Everything that `local.claude.standin.StandIn` counts; it must be the one that answers."""
        return dict(ask(self.endpoint, "claude"))

    def client(self, service: str) -> Any:
        """A boto3 client of this cloud."""
        return self._clients.client(service)

    def resource(self, service: str) -> Any:
        """A boto3 resource of this cloud."""
        return self._clients.resource(service)

    def dead_letters(self) -> dict[str, int]:
        """Messages in each dead-letter queue, by its name."""
        return dead_letter_depths(self.client("sqs"), self.outputs)

    def deliveries(self) -> dict[str, int]:
        """What was handed to each function, by its name: messages of its queue, each time counted, or other events."""
        return dict(ask(self.endpoint, "deliveries"))

    def injected(self) -> dict[str, list[int]]:
        """How often each fault came that this cloud was started with: those of `script`, `service` and `handler`."""
        return dict(ask(self.endpoint, "injected"))

    def metrics(self) -> list[dict[str, Any]]:
        """What AWS would have published: rows of namespace, name, dimensions and sum."""
        return list(ask(self.endpoint, "metrics"))

    def alarms(self) -> dict[str, str]:
        """The state of each alarm by its name: OK, ALARM or INSUFFICIENT_DATA."""
        pages = self.client("cloudwatch").get_paginator("describe_alarms").paginate()
        return {alarm["AlarmName"]: alarm["StateValue"] for page in pages for alarm in page["MetricAlarms"]}

    def alarms_fired(self) -> dict[str, int]:
        """How often each alarm went to ALARM, now or ever; those that never did are left out.

        A failure is seen by the second minute of this cloud (`LocalCloudOptions.minute_s`) that begins after it.
        """
        pages = (
            self.client("cloudwatch")
            .get_paginator("describe_alarm_history")
            .paginate(HistoryItemType="StateUpdate", AlarmTypes=["MetricAlarm"])
        )
        changes = ((item["AlarmName"], json.loads(item["HistoryData"])) for page in pages for item in page[_HISTORY])
        return Counter(name for name, change in changes if change["newState"]["stateValue"] == "ALARM")

    def outbox(self) -> list[Notice]:
        """What would have been mailed, in the order it was sent."""
        return [Notice.from_json(value) for value in ask(self.endpoint, "outbox")]

    def refunds(self) -> dict[str, Any]:
        """What the payment provider's stand-in made: `requests`, `refunds`, `by_request_id`, `amount_by_payment`."""
        return dict(ask(self.endpoint, "payments"))

    def _count(self, name: str) -> int | None:
        return int(ask(self.endpoint, "claude")[name]) if self._stand_in else None


def dead_letter_depths(sqs: Any, outputs: Mapping[str, str]) -> dict[str, int]:
    """Messages in each dead-letter queue of the stacks, by its name; what is just being read counts too."""
    depths = {}
    pairs = (pair for name, listed in outputs.items() if name.endswith(_DEAD_LETTERS) for pair in listed.split(","))
    for pair in filter(None, pairs):
        name, _, url = pair.partition("=")
        attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(_DEPTHS))["Attributes"]
        depths[name] = sum(int(attributes[depth]) for depth in _DEPTHS)
    return depths


def ask(endpoint: str, question: str, *, timeout_s: float = 10.0) -> Any:
    """The answer of `/_local/<question>`. Raises `LocalCloudError` when nobody gives one."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{endpoint}/_local/{question}", timeout=timeout_s) as answer:
            return json.loads(answer.read())
    except (OSError, ValueError) as error:
        raise LocalCloudError(f"The local cloud at {endpoint} does not answer ({error}).") from None
