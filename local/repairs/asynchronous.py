"""Asynchronous invocations: retries, event age and the on-failure destination as the Lambda guide documents them.

MiniStack writes a record without the request id and with a fixed count, and drops what is throttled.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from local.emulator import Emulator
from local.metrics import Metrics
from local.repairs.invocations import Answer, Invocations
from local.repairs.permissions import Permissions
from local.repairs.queues import QueueError, Queues
from local.timers import Timers

logger = logging.getLogger(__name__)

_DEFAULT_AGE_S = 6 * 3600
_DEFAULT_RETRIES = 2


@dataclass
class _Pending:
    record: Any
    event: Any
    origin: str
    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    accepted_at: float = field(default_factory=time.monotonic)
    attempts: int = 0
    throttled: int = 0


class Asynchronous:
    """Accepts events for functions and runs them on `handlers` threads; `retry_s` stands for AWS's minute."""

    def __init__(
        self,
        emulator: Emulator,
        invocations: Invocations,
        *,
        queues: Queues,
        permissions: Permissions,
        metrics: Metrics,
        handlers: int,
        retry_s: float,
    ) -> None:
        self._emulator = emulator
        self._invocations = invocations
        self._queues = queues
        self._permissions = permissions
        self._metrics = metrics
        self._retry_s = retry_s
        self._timers = Timers("async", handlers)
        self._open: Counter[str] = Counter()
        self._lock = threading.Lock()

    def install(self) -> None:
        self._emulator.functions.invoke_async_with_retry = self.accept

    def accept(self, record: Any, event: Any, origin: str = "") -> None:
        """Take an event; `origin` names who sent it, for `busy`."""
        with self._lock:
            self._open[origin] += 1
        pending = _Pending(record, event, origin)
        self._timers.after(0, lambda: self._attempt(pending))

    def busy(self, origin: str) -> bool:
        """Whether an event of this origin is still waiting, running or to be retried."""
        with self._lock:
            return self._open[origin] > 0

    def _attempt(self, pending: _Pending) -> None:
        answer = self._invocations.run_record(pending.record, pending.event)
        if not answer.error_type:
            self._close(pending)
            return
        config = _invoke_config(pending.record)
        # A throttle is not an attempt of the function: Lambda keeps the event and comes back until it is too old.
        if answer.throttled:
            pending.throttled += 1
        else:
            pending.attempts += 1
        again = answer.throttled or pending.attempts <= config.get("MaximumRetryAttempts", _DEFAULT_RETRIES)
        delay_s = self._retry_s * (pending.attempts or 1)
        age_s = time.monotonic() - pending.accepted_at + delay_s
        if again and age_s <= config.get("MaximumEventAgeInSeconds", _DEFAULT_AGE_S):
            self._timers.after(delay_s, lambda: self._attempt(pending))
            return
        self._give_up(pending, answer, config, "EventAgeExceeded" if again else "RetriesExhausted")
        self._close(pending)

    def _close(self, pending: _Pending) -> None:
        with self._lock:
            self._open[pending.origin] -= 1

    def _give_up(self, pending: _Pending, answer: Answer, config: Mapping[str, Any], condition: str) -> None:
        function = pending.record["config"]
        dimensions = {"FunctionName": function["FunctionName"]}
        self._metrics.count("AWS/Lambda", "AsyncEventsDropped", dimensions)
        target = (config.get("DestinationConfig") or {}).get("OnFailure", {}).get("Destination", "")
        if not target:
            logger.warning("%s: an asynchronous event was dropped (%s)", function["FunctionName"], condition)
            return
        try:
            if ":sqs:" not in target:
                raise QueueError("CUSTOMER_VALIDATION", "The local cloud knows SQS queues as on-failure destinations.")
            if not self._permissions.role_may(function["Role"], "sqs:SendMessage", target):
                raise QueueError("ACCESS_DENIED", "The function's role may not send to its on-failure destination.")
            self._queues.send(target, json.dumps(_failure_record(pending, answer, condition)))
        except QueueError as error:
            self._metrics.count("AWS/Lambda", "DestinationDeliveryFailures", dimensions)
            logger.error("%s: the on-failure record was not delivered: %s", function["FunctionName"], error)


def _invoke_config(record: Any) -> Mapping[str, Any]:
    return record.get("event_invoke_config") or (record.get("event_invoke_configs") or {}).get("$LATEST") or {}


def _failure_record(pending: _Pending, answer: Answer, condition: str) -> dict[str, Any]:
    """The invocation record of the Lambda guide ("Capturing records of asynchronous invocations")."""
    return {
        "version": "1.0",
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "requestContext": {
            "requestId": pending.request_id,
            "functionArn": f"{pending.record['config']['FunctionArn']}:$LATEST",
            "condition": condition,
            "approximateInvokeCount": pending.attempts,
        },
        "requestPayload": pending.event,
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "responsePayload": answer.body,
    }
