"""What single ways to call are told by their environment, beside what every one of them is."""

from __future__ import annotations

from pydantic import Field

from functions.settings import Environment


class InboxSettings(Environment):
    """The queue worker: the queue it reads, where it puts what no delivery can mend, and after how many receives
    redrive takes what comes again and again.
    """

    refund_queue_url: str
    refund_dlq_url: str
    refund_max_receives: int = Field(ge=1)


class BusSettings(Environment):
    """The bus worker. An event that came through more than `max_hops` agents is stopped."""

    max_hops: int = Field(4, ge=1)


class PassSettings(Environment):
    """The reconciler's schedule: how long a refund may be unknown before somebody is told, in seconds."""

    unknown_alarm_s: float = Field(3600.0, ge=0)
