"""What AWS measures by itself: queues, what functions write into their logs, and every invocation.

MiniStack knows no metrics of queues, and counts invocations of its API alone: none by a rule, a queue or the bus.
"""

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
        """Before whatever else wraps an invocation: the time that one waits for its turn is not part of it."""
        functions, sqs = self._emulator.functions, self._emulator.sqs
        dispatch = functions._execute_function_dispatch

        def observed(func: Any, config: Any, *rest: Any) -> Any:
            started = time.time()
            self._of_function("Invocations", config, 1)
            result = dispatch(func, config, *rest)
            # Lambda stamps these with the begin as well, and an alarm on errors looks back for the function's timeout;
            # that is not shortened here as the minutes are, so they are stamped with the end.
            self._of_function("Errors", config, bool(result.get("error")))
            self._of_function("Duration", config, 1000 * (time.time() - started))
            for metric, value in embedded_metrics(result.get("log") or ""):
                self._metrics.count(metric.namespace, metric.name, dict(metric.dimensions), value)
            return result

        def throttled(name: str, duration_ms: float, error: bool, throttle: bool) -> None:  # noqa: ARG001 -- its signature
            # What is invoked directly is told of twice; the second time it has lasted.
            if throttle and not duration_ms:
                self._of_function("Throttles", {"FunctionName": name}, 1)

        functions._execute_function_dispatch, functions._emit_lambda_metrics = observed, throttled
        receive = sqs._receive_messages_for_esm

        def received(url: str, *rest: Any) -> Any:
            messages = receive(url, *rest)
            if messages:
                self._alarms.measure(_of_queue("NumberOfMessagesReceived", url.rpartition("/")[2]), len(messages))
            return messages

        sqs._receive_messages_for_esm = received

    def _of_function(self, metric: str, config: Any, value: float) -> None:
        self._alarms.measure(Metric.of("AWS/Lambda", metric, {"FunctionName": config["FunctionName"]}), value)

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
