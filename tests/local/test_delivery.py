"""Batches, retries and ends of the bus, without a server."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from local.bus.delivery import NAMESPACE, Deliveries
from local.bus.failures import DeliveryError
from local.bus.model import Bus, StoredEvent, Subscriber
from local.metrics import Metrics
from local.repairs.gate import Gate
from local.timers import Timers
from tests.local.toy import wait_for


class Targets:
    """Fails the first `failures` deliveries, of the named events or of all."""

    def __init__(self, failures: int = 0, failed_ids: Sequence[str] | None = None) -> None:
        self.batches: list[list[str]] = []
        self.records: list[dict[str, Any]] = []
        self._failures = failures
        self._failed_ids = failed_ids

    def deliver(self, _: Subscriber, batch: Sequence[StoredEvent]) -> None:
        self.batches.append([event.event_id for event in batch])
        if len(self.batches) <= self._failures:
            failed = None
            if self._failed_ids is not None:
                failed = [event for event in batch if event.event_id in self._failed_ids]
            raise DeliveryError("THROTTLING", "no", failed)

    def record(self, _: Subscriber, body: str, attributes: Mapping[str, str]) -> None:
        self.records.append({**json.loads(body), "attributes": attributes})


def subscriber(**config: Any) -> Subscriber:
    at = datetime.now(UTC)
    bus = Bus("arn:aws:events:us-east-1:0:event-busv2/b/x", "b", at, {})
    invoke = {"TargetArn": "arn:aws:sqs:us-east-1:0:q", "RoleArn": "arn:aws:iam::0:role/r"}
    failures = {"Arn": "arn:aws:sqs:us-east-1:0:f"}
    full = {"InvokeConfiguration": invoke, "OnFailureConfiguration": failures, **config}
    return Subscriber("arn:aws:events:us-east-1:0:subscriber/s/x", "s", bus, at, full)


def event(number: int, stored_at: float | None = None) -> StoredEvent:
    return StoredEvent(f"e{number}", stored_at or time.time(), {}, {"DeduplicationId": f"d{number}"})


def deliveries(targets: Targets) -> tuple[Deliveries, Metrics]:
    metrics = Metrics()
    return Deliveries(targets, metrics, threads=1, backoff_s=0.001), metrics  # type: ignore[arg-type]


def test_a_batch_closes_when_it_is_full_and_the_window_closes_the_last_one() -> None:
    targets = Targets()
    delivering, _ = deliveries(targets)
    of_three = subscriber(BatchConfiguration={"MaxBatchSize": 3, "MaxBatchWindowInSeconds": 1})
    for number in range(4):
        delivering.accept(of_three, event(number))
    wait_for(lambda: len(targets.batches) == 2)
    assert targets.batches == [["e0", "e1", "e2"], ["e3"]]


def test_a_delivery_is_retried_until_it_succeeds() -> None:
    targets = Targets(failures=3)
    delivering, metrics = deliveries(targets)
    delivering.accept(subscriber(), event(1))
    wait_for(lambda: metrics.total(NAMESPACE, "EventsDelivered") == 1)
    assert targets.batches == [["e1"]] * 4
    assert targets.records == []


def test_only_the_events_that_failed_are_retried() -> None:
    targets = Targets(failures=1, failed_ids=["e2"])
    delivering, metrics = deliveries(targets)
    of_two = subscriber(BatchConfiguration={"MaxBatchSize": 2, "MaxBatchWindowInSeconds": 9})
    for number in (1, 2):
        delivering.accept(of_two, event(number))
    wait_for(lambda: metrics.total(NAMESPACE, "EventsDelivered") == 2)
    assert targets.batches == [["e1", "e2"], ["e2"]]


def test_the_attempts_of_the_policy_end_in_one_record() -> None:
    targets = Targets(failures=99)
    delivering, metrics = deliveries(targets)
    delivering.accept(subscriber(RetryPolicy={"MaxRetryAttempts": 2}), event(1))
    (record,) = wait_for(lambda: targets.records)
    assert len(targets.batches) == 3
    assert (record["exhaustedRetryCondition"], record["retryAttempts"]) == ("MaximumRetryAttempts", 2)
    assert record["failedMessages"][0]["deduplicationId"] == "d1"
    assert record["attributes"]["ERROR_CODE"] == "THROTTLING"
    wait_for(lambda: metrics.total(NAMESPACE, "OnFailureDestinationDelivered") == 1)


def test_an_event_that_is_too_old_is_not_retried() -> None:
    targets = Targets(failures=99)
    delivering, _ = deliveries(targets)
    delivering.accept(subscriber(RetryPolicy={"MaxEventAgeInSeconds": 60}), event(1, time.time() - 61))
    (record,) = wait_for(lambda: targets.records)
    assert (record["exhaustedRetryCondition"], record["retryAttempts"]) == ("MaximumEventAgeInSeconds", 0)
    assert len(targets.batches) == 1


def test_without_a_failure_queue_the_event_is_dropped_and_counted() -> None:
    delivering, metrics = deliveries(Targets(failures=99))
    alone = subscriber(RetryPolicy={"MaxRetryAttempts": 0}, OnFailureConfiguration=None)
    delivering.accept(alone, event(1))
    wait_for(lambda: metrics.total(NAMESPACE, "EventsDropped") == 1)


def test_a_later_job_runs_in_time_although_the_thread_that_waited_is_busy() -> None:
    timers, busy, ran = Timers("test", 2), threading.Event(), threading.Event()
    timers.after(0.05, busy.wait)  # type: ignore[arg-type]
    timers.after(0.1, ran.set)
    try:
        assert ran.wait(5)
    finally:
        busy.set()


def test_a_job_that_raises_does_not_end_its_thread(caplog: pytest.LogCaptureFixture) -> None:
    timers, ran = Timers("test", 1), threading.Event()
    timers.after(0, lambda: int("x") and None)
    timers.after(0, ran.set)
    assert ran.wait(5)
    assert "a job of the local cloud failed" in caplog.text


def test_the_gate_lets_in_as_many_as_it_is_wide_and_the_rest_in_order() -> None:
    gate, entered, leave = Gate(1), [], threading.Event()
    waiting: list[threading.Thread] = []

    def enter(number: int) -> None:
        with gate.turn():
            entered.append(number)
            leave.wait(5)

    for number in range(3):
        waiting.append(threading.Thread(target=enter, args=(number,)))
        waiting[-1].start()
        # The first is inside, each later one stands behind the one before it.
        wait_for(lambda number=number: len(entered) + len(gate._waiting) == number + 1)
    assert entered == [0]
    leave.set()
    for thread in waiting:
        thread.join(5)
    assert entered == [0, 1, 2]
