"""What AWS measures by itself and MiniStack does not: the queues, and what functions write into their logs."""

from __future__ import annotations

import time
from typing import Any

from local.alarms.datapoints import Metric
from local.alarms.embedded import embedded_metrics
from local.emulator import Emulator
from local.metrics import Metrics
from local.repairs.alarms import Alarms

_ACTIVE_S = 6 * 3600
"""A queue that nothing was in for so long is idle: SQS then publishes no metrics of it."""
_POISON = 3
"""A message that was received as often and is still there does not count for the age of the oldest one."""


class Measuring:
    """`sample_queues` runs on the event loop's thread, where the queues are changed."""

    def __init__(self, emulator: Emulator, metrics: Metrics, alarms: Alarms) -> None:
        self._emulator = emulator
        self._metrics = metrics
        self._alarms = alarms
        self._active_at: dict[Any, float] = {}

    def install(self) -> None:
        functions = self._emulator.functions
        dispatch = functions._execute_function_dispatch

        def observed(*args: Any) -> Any:
            result = dispatch(*args)
            for metric, value in embedded_metrics(result.get("log") or ""):
                self._metrics.count(metric.namespace, metric.name, dict(metric.dimensions), value)
            return result

        functions._execute_function_dispatch = observed

    def sample_queues(self) -> None:
        now = time.time()
        for key, queue in list(self._emulator.sqs._queues.all_items()):
            messages = queue["messages"]
            if messages:
                self._active_at[key] = now
            if self._alarms.scaled(now - self._active_at.get(key, float("-inf"))) < _ACTIVE_S:
                self._sample(queue["name"], messages, now)

    def _sample(self, name: str, messages: list[Any], now: float) -> None:
        visible = sum(message["visible_at"] <= now for message in messages)
        ages = [now - message["sent_at"] for message in messages if message["receive_count"] < _POISON]
        self._alarms.measure(_of_queue("ApproximateNumberOfMessagesVisible", name), visible)
        if messages:
            oldest = self._alarms.scaled(max(ages, default=0.0))
            self._alarms.measure(_of_queue("ApproximateAgeOfOldestMessage", name), oldest)


def _of_queue(metric: str, name: str) -> Metric:
    return Metric.of("AWS/SQS", metric, {"QueueName": name})
