"""When a run is over: from what the tools counted of their own calls, never from how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.refund_experiment.injections import CALLS, QUEUES, Injection
from bench.refund_experiment.requests import Asked
from bench.refund_experiment.timers import Timers
from cli.cloud import Cloud

_LOOK_S = 0.5
_SPARE_S = 2
_DEPTHS = ("", "NotVisible", "Delayed")


class ExperimentError(Exception):
    """A cell could not be measured; the message says why."""


@dataclass(frozen=True)
class Calls:
    """What the item of one request says: calls that began, returned and raised, and faults that came."""

    arrivals: int = 0
    returned: int = 0
    failed: int = 0
    hits: int = 0
    last_at: int = 0
    errors: frozenset[str] = frozenset()

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> Calls:
        numbers = {name: int(item.get(name, 0)) for name in ("arrivals", "returned", "failed", "hits", "last_at")}
        return cls(**numbers, errors=frozenset(item.get("errors", ())))

    def all_ended(self, now: float, timers: Timers) -> bool:
        """None is still running: each returned, raised or was killed by its timeout."""
        ended = self.returned + self.failed >= self.arrivals
        return ended or now > self.last_at + timers.function_s + _SPARE_S


class Watch:
    """Waits for the requests of one run."""

    def __init__(self, cloud: Cloud, timers: Timers) -> None:
        self._cloud = cloud
        self._timers = timers
        self._faults = cloud.resource("dynamodb").Table(cloud.outputs["FaultsTable"])

    def calls(self, request_id: str) -> Calls:
        item = self._faults.get_item(Key={"request_id": request_id}, ConsistentRead=True).get("Item", {})
        return Calls.of(item)

    def settled(self, injection: Injection, actions: Sequence[Asked], expected: Mapping[str, int]) -> None:
        """Until no call runs and none will come. `expected`: how many were made of each, where the caller knows.

        Raises ExperimentError.
        """
        if injection.way in QUEUES:
            self.until(f"the queue of {injection.name} is empty", lambda: self._depth(injection.way))
        # The first that was asked is over first; the end of a list is what it gives up cheaply.
        left = [asked.request_id for asked in reversed(actions)]

        def still_going() -> int:
            while left and is_over(
                self.calls(left[-1]), injection, expected.get(left[-1], 0), time.time(), self._timers
            ):
                left.pop()
            return len(left)

        self.until(f"the calls of {injection.name} are over", still_going)

    def until(self, what: str, left: Callable[[], int]) -> None:
        """Wait until nothing is left, as long as that changes within the patience. Raises ExperimentError."""
        seen, deadline = 0, 0.0
        while now := left():
            if now != seen:
                seen, deadline = now, time.monotonic() + self._timers.patience_s
            elif time.monotonic() > deadline:
                raise ExperimentError(
                    f"for {self._timers.patience_s:.0f} s nothing moved, and it is not so that {what}"
                )
            time.sleep(_LOOK_S)

    def _depth(self, way: str) -> int:
        attributes = self._cloud.client("sqs").get_queue_attributes(
            QueueUrl=self._cloud.outputs[f"{way.title()}QueueUrl"],
            AttributeNames=[f"ApproximateNumberOfMessages{depth}" for depth in _DEPTHS],
        )["Attributes"]
        return sum(map(int, attributes.values()))


def is_over(calls: Calls, injection: Injection, expected: int, now: float, timers: Timers) -> bool:
    """Whether no call of this request runs, and none will come. `expected`: made by the caller; 0: not known."""
    if injection.way == "asynchronous":
        # Lambda calls again after an end that is no return, and not before it.
        return calls.returned > 0 or (calls.arrivals >= CALLS and calls.all_ended(now, timers))
    return calls.arrivals >= max(1, expected) and calls.all_ended(now, timers)


def scanned(cloud: Cloud, table: str) -> list[dict[str, Any]]:
    """Every item of one of the experiment's tables."""
    pages = (
        cloud.resource("dynamodb")
        .meta.client.get_paginator("scan")
        .paginate(TableName=cloud.outputs[table], ConsistentRead=True)
    )
    return [item for page in pages for item in page["Items"]]
