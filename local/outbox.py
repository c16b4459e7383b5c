"""What the local cloud would have mailed: every message of its topics, kept and readable instead of sent."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from local.emulator import Emulator

KEPT = 1_000
"""Older messages are forgotten."""


@dataclass(frozen=True, slots=True)
class Notice:
    """One message as its topic took it. `at`: seconds since the epoch; `topic`: its name, not its ARN."""

    at: float
    topic: str
    subject: str
    text: str

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(float(value["at"]), str(value["topic"]), str(value["subject"]), str(value["text"]))


class Outbox:
    """Keeps what topics send to their subscribers. Thread-safe."""

    def __init__(self, emulator: Emulator, clock: Callable[[], float] = time.time) -> None:
        self._emulator = emulator
        self._clock = clock
        self._lock = threading.Lock()
        self._notices: deque[Notice] = deque(maxlen=KEPT)

    def install(self) -> None:
        """Every way to a topic's subscribers (Publish, PublishBatch, alarms) ends in this one function."""
        sns = self._emulator.sns
        fanout = sns._fanout

        def kept(topic_arn: str, message_id: str, message: str, subject: str, *rest: Any, **more: Any) -> Any:
            self.keep(topic_arn, subject, message)
            return fanout(topic_arn, message_id, message, subject, *rest, **more)

        sns._fanout = kept

    def keep(self, topic_arn: str, subject: str, text: str) -> None:
        notice = Notice(self._clock(), topic_arn.rpartition(":")[2], subject or "", text)
        with self._lock:
            self._notices.append(notice)

    def listing(self) -> list[dict[str, Any]]:
        """JSON-ready, in the order they were sent."""
        with self._lock:
            return [asdict(notice) for notice in self._notices]
