"""The record of a failed delivery, as it reaches a subscriber's on-failure queue: ids and reasons, no payload."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from local.bus.model import StoredEvent, Subscriber

_LONGEST_MESSAGE = 1024


class DeliveryError(Exception):
    """A target did not take a batch. `failed` are the events it did not take; None means all of them."""

    def __init__(self, code: str, message: str, failed: Sequence[StoredEvent] | None = None) -> None:
        super().__init__(message[:_LONGEST_MESSAGE])
        self.code = code
        self.failed = failed


@dataclass(frozen=True)
class FailureRecord:
    body: str
    attributes: dict[str, str]


def failure_record(
    subscriber: Subscriber, batch: Sequence[StoredEvent], error: DeliveryError, condition: str, retries: int
) -> FailureRecord:
    """One record for the whole batch; `condition` is MaximumRetryAttempts or MaximumEventAgeInSeconds."""
    body = {
        "version": "1.0",
        "busArn": subscriber.bus.arn,
        "subscriberArn": subscriber.arn,
        "targetArn": subscriber.target_arn,
        "errorCode": error.code,
        "errorMessage": str(error),
        "exhaustedRetryCondition": condition,
        "retryAttempts": retries,
        "failedMessages": [_failed_message(event) for event in batch],
    }
    attributes = {
        "ERROR_CODE": error.code,
        "ERROR_MESSAGE": str(error) or error.code,
        "SUBSCRIBER_ARN": subscriber.arn,
        "TARGET_ARN": subscriber.target_arn,
        "BUS_ARN": subscriber.bus.arn,
        "EXHAUSTED_RETRY_CONDITION": condition,
        "RETRY_ATTEMPTS": str(retries),
    }
    return FailureRecord(json.dumps(body), attributes)


def _failed_message(event: StoredEvent) -> dict[str, str]:
    message = {"eventId": event.event_id, "timestamp": datetime.fromtimestamp(event.stored_at, UTC).isoformat()}
    for name, key in (("eventGroupId", "EventGroupId"), ("deduplicationId", "DeduplicationId")):
        if key in event.system:
            message[name] = event.system[key]
    return message
