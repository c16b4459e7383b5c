"""The services between the workers, by the clock of the test: queues, bus, topic, asynchronous invocations, the secret.

Each keeps what AWS documents of delivery: at least once, in no order, with a visibility timeout, a redrive, and a
window in which a repeated deduplication id is suppressed. All of it is plain data, so that a world can be copied.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

QUEUE, DLQ = "https://sqs/classify", "https://sqs/classify-dlq"
DEDUP_WINDOW_S = 300.0
"""How long the bus suppresses a repeated id (Custom Event Bus, PutEvents)."""


class Clock:
    """Seconds since the epoch, moved by the test."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@dataclass
class Held:
    """A message in the work queue."""

    message_id: str
    body: str
    visible_at: float
    receives: int = 0


class Queues:
    """In place of boto3's `sqs` client: the work queue, which redrives into its dead-letter queue."""

    def __init__(self, clock: Clock, *, visibility_s: float, max_receives: int) -> None:
        self._clock = clock
        self._visibility_s = visibility_s
        self._max_receives = max_receives
        self._numbers = itertools.count(1)
        self.held: dict[str, Held] = {}
        self.dead: list[str] = []

    # --- as boto3 ---------------------------------------------------------------------------------------------------

    def send_message(self, *, QueueUrl: str, MessageBody: str, DelaySeconds: int = 0, **_: Any) -> dict[str, Any]:  # noqa: N803
        if QueueUrl == DLQ:
            self.dead.append(MessageBody)
        else:
            name = f"m{next(self._numbers)}"
            self.held[name] = Held(name, MessageBody, self._clock() + DelaySeconds)
        return {}

    def change_message_visibility(self, *, QueueUrl: str, ReceiptHandle: str, VisibilityTimeout: int) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == QUEUE
        name, _, receives = ReceiptHandle.partition("/")
        message = self.held.get(name)
        # A receipt of an earlier receive changes nothing any more.
        if message and message.receives == int(receives):
            message.visible_at = self._clock() + VisibilityTimeout
        return {}

    def get_queue_attributes(self, *, QueueUrl: str, AttributeNames: Sequence[str]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == QUEUE
        return {"Attributes": {AttributeNames[0]: str(len(self.held)), **dict.fromkeys(AttributeNames[1:], "0")}}

    # --- as the event source mapping --------------------------------------------------------------------------------

    def receive(self) -> Held | None:
        """The next visible message, in flight from now on; one received too often goes to the dead letters instead."""
        for message in list(self.held.values()):
            if message.visible_at > self._clock():
                continue
            if message.receives >= self._max_receives:
                self.dead.append(self.held.pop(message.message_id).body)
                continue
            message.receives += 1
            message.visible_at = self._clock() + self._visibility_s
            return message
        return None

    def delete(self, message_id: str) -> None:
        self.held.pop(message_id, None)

    @property
    def next_at(self) -> float | None:
        return min((message.visible_at for message in self.held.values()), default=None)


@dataclass
class Bus:
    """In place of boto3's `eventbridgev2` client. It hands row events to the work queue: those of `twice` (row numbers)
    two times, the first few of each in `lost` not at all."""

    clock: Clock
    queues: Queues
    twice: set[int] = field(default_factory=set)
    lost: Counter[int] = field(default_factory=Counter)
    seen: dict[str, float] = field(default_factory=dict)
    finished: dict[str, set[str]] = field(default_factory=dict)
    """Details of `upload.finished` by deduplication id."""

    def put_events(self, *, EventBusArn: str, Entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:  # noqa: N803
        return {"FailedEntryCount": 0, "Entries": [self._put(entry) for entry in Entries]}

    def _put(self, entry: Mapping[str, Any]) -> Mapping[str, Any]:
        dedup_id = entry["SystemMetadata"]["DeduplicationId"]
        if self.seen.get(dedup_id, 0.0) > self.clock():
            return {"EventId": "e", "SuccessCode": "DEDUPLICATED"}
        self.seen[dedup_id] = self.clock() + DEDUP_WINDOW_S
        if entry["DetailType"] == "upload.finished":
            self.finished.setdefault(dedup_id, set()).add(entry["Detail"])
        else:
            self._deliver(entry)
        return {"EventId": "e", "SuccessCode": "PUBLISHED"}

    def _deliver(self, entry: Mapping[str, Any]) -> None:
        detail = json.loads(entry["Detail"])
        row = detail["data"]["row_number"]
        body = json.dumps({"version": "0", "id": "e", "detail-type": entry["DetailType"], "detail": detail})
        if self.lost[row] > 0:
            self.lost[row] -= 1
            return
        for _ in range(2 if row in self.twice else 1):
            self.queues.send_message(QueueUrl=QUEUE, MessageBody=body)


@dataclass
class Topic:
    """In place of boto3's `sns` client."""

    mails: list[tuple[str, str]] = field(default_factory=list)

    def publish(self, *, TopicArn: str, Subject: str, Message: str) -> dict[str, Any]:  # noqa: N803
        self.mails.append((Subject, Message))
        return {}


@dataclass
class Waiting:
    """An asynchronous invocation of intake: what Lambda does with it next, and when."""

    event: dict[str, Any]
    at: float
    attempt: int = 1


class Invocations:
    """In place of boto3's `lambda` client. Lambda tries an event again a minute and then two minutes later (Lambda
    Developer Guide, asynchronous invocation), and then gives it to the on-failure queue."""

    PAUSES = (60.0, 120.0)

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.waiting: list[Waiting] = []
        self.failed: list[dict[str, Any]] = []

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        assert (FunctionName, InvocationType) == ("intake", "Event")
        self.waiting.append(Waiting(json.loads(Payload), self._clock()))
        return {"StatusCode": 202}

    def take(self) -> Waiting | None:
        due = [each for each in self.waiting if each.at <= self._clock()]
        if not due:
            return None
        self.waiting.remove(due[0])
        return due[0]

    def broke(self, tried: Waiting) -> None:
        if tried.attempt > len(self.PAUSES):
            self.failed.append(tried.event)
            return
        pause_s = self.PAUSES[tried.attempt - 1]
        self.waiting.append(Waiting(tried.event, self._clock() + pause_s, tried.attempt + 1))

    @property
    def next_at(self) -> float | None:
        return min((each.at for each in self.waiting), default=None)


class Secrets:
    """In place of boto3's `secretsmanager` client."""

    def get_secret_value(self, *, SecretId: str) -> dict[str, str]:  # noqa: N803
        return {"SecretString": "sk-test"}
