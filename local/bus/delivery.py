"""From stored events to their targets: batches, retries with back-off, then the on-failure queue."""

from __future__ import annotations

import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from local.bus.failures import DeliveryError, failure_record
from local.bus.model import StoredEvent, Subscriber
from local.bus.targets import Targets
from local.metrics import Metrics
from local.timers import Timers

logger = logging.getLogger(__name__)

NAMESPACE = "AWS/EventsV2"
_LONGEST_BACKOFF_S = 5.0


@dataclass(frozen=True)
class _Batch:
    subscriber: Subscriber
    events: Sequence[StoredEvent]
    retries: int = 0


class Deliveries:
    """Delivers on a fixed number of threads. `backoff_s` is the first pause before a retry; it doubles each time."""

    def __init__(self, targets: Targets, metrics: Metrics, *, threads: int, backoff_s: float) -> None:
        self._targets = targets
        self._metrics = metrics
        self._timers = Timers("bus", threads)
        self._backoff_s = backoff_s
        self._waiting: dict[str, deque[StoredEvent]] = defaultdict(deque)
        self._lock = threading.Lock()

    def accept(self, subscriber: Subscriber, event: StoredEvent) -> None:
        """Take an event that matched."""
        with self._lock:
            waiting = self._waiting[subscriber.arn]
            waiting.append(event)
            first, full = len(waiting) == 1, len(waiting) % subscriber.batch_size == 0
        if first or full:
            self._timers.after(0 if full else subscriber.window_s, lambda: self._drain(subscriber))

    def forget(self, subscriber: Subscriber) -> None:
        with self._lock:
            self._waiting.pop(subscriber.arn, None)

    def _drain(self, subscriber: Subscriber) -> None:
        with self._lock:
            waiting = self._waiting[subscriber.arn]
            events = [waiting.popleft() for _ in range(min(len(waiting), subscriber.batch_size))]
            more = bool(waiting)
        if more:
            self._timers.after(0, lambda: self._drain(subscriber))
        if events:
            self._attempt(_Batch(subscriber, events))

    def _attempt(self, batch: _Batch) -> None:
        subscriber = batch.subscriber
        self._count(subscriber, "TargetInvocations")
        self._count(subscriber, "EventDeliveryAttempts", len(batch.events))
        if batch.retries:
            self._count(subscriber, "RetryInvocationAttempts")
        try:
            self._targets.deliver(subscriber, batch.events)
        except DeliveryError as error:
            failed = batch.events if error.failed is None else error.failed
            self._count(subscriber, "EventsDelivered", len(batch.events) - len(failed))
            self._retry(_Batch(subscriber, failed, batch.retries), error)
            return
        self._count(subscriber, "EventsDelivered", len(batch.events))

    def _retry(self, batch: _Batch, error: DeliveryError) -> None:
        """Every error is retried, also a missing permission: the bus has no fast failure."""
        subscriber = batch.subscriber
        if batch.retries >= subscriber.max_retries:
            self._give_up(batch, error, "MaximumRetryAttempts")
            return
        delay_s = min(self._backoff_s * 2**batch.retries, _LONGEST_BACKOFF_S)
        if time.time() + delay_s - min(event.stored_at for event in batch.events) > subscriber.max_age_s:
            self._give_up(batch, error, "MaximumEventAgeInSeconds")
            return
        again = _Batch(subscriber, batch.events, batch.retries + 1)
        self._timers.after(delay_s, lambda: self._attempt(again))

    def _give_up(self, batch: _Batch, error: DeliveryError, condition: str) -> None:
        subscriber = batch.subscriber
        if not subscriber.on_failure_arn:
            self._count(subscriber, "EventsDropped", len(batch.events))
            logger.error("subscriber %s: %d events were dropped (%s)", subscriber.name, len(batch.events), error.code)
            return
        record = failure_record(subscriber, batch.events, error, condition, batch.retries)
        try:
            self._targets.record(subscriber, record.body, record.attributes)
        except DeliveryError as fault:
            self._count(subscriber, "OnFailureDestinationFailed")
            self._count(subscriber, "EventsDropped", len(batch.events))
            logger.error("subscriber %s: the on-failure record was not delivered: %s", subscriber.name, fault)
            return
        self._count(subscriber, "OnFailureDestinationDelivered")

    def _count(self, subscriber: Subscriber, name: str, value: int = 1) -> None:
        if value:
            self._metrics.count(NAMESPACE, name, subscriber.dimensions, value)
