"""The ways of failing, as data: how a call fails, and who runs it again.

| injection | the call | who runs it again |
|---|---|---|
| raise | raises after the write | Lambda, for an asynchronous invocation with default attempts |
| sleep | sleeps past its timeout | the same |
| workflow | takes longer than the task's TimeoutSeconds | Step Functions, by the task's retrier |
| mcp | takes longer than the client waits | the MCP client's host, at once |
| batch-partial | record 3 of five raises after the write, once | SQS, with ReportBatchItemFailures |
| batch-whole | the same, without it; the handler ends the batch and then fails | SQS |
| batch-loop | the same, without it; the handler is a plain loop and ends at record 3 | SQS |
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from bench.refund_experiment.variants import Points

Way = Literal["asynchronous", "workflow", "mcp", "partial", "whole", "loop"]
Does = Literal["raise", "sleep", "pause"]

ALWAYS = 1_000
"""Every call of one request: the article's handler fails as long as its environment says so."""
CALLS = 3
"""Lambda's default attempts, the retrier's, and the MCP host's."""
BATCH, THIRD = 5, 2
"""Records a batch, and the place of the one that fails, from 0."""
QUEUES: Sequence[Way] = ("partial", "whole", "loop")


@dataclass(frozen=True)
class Injection:
    name: str
    says: str
    way: Way
    does: Does
    times: int = 1

    @property
    def is_batch(self) -> bool:
        return self.way in QUEUES


INJECTIONS: Sequence[Injection] = (
    Injection("raise", "raises after the write, asynchronous", "asynchronous", "raise", ALWAYS),
    Injection("sleep", "sleeps past the timeout, asynchronous", "asynchronous", "sleep", ALWAYS),
    Injection("workflow", "Step Functions gives up first and retries", "workflow", "pause"),
    Injection("mcp", "an MCP client gives up first and calls again", "mcp", "pause"),
    Injection("batch-partial", "record 3 of 5, ReportBatchItemFailures", "partial", "raise"),
    Injection("batch-whole", "record 3 of 5, without it", "whole", "raise"),
    Injection("batch-loop", "record 3 of 5, without it, a plain loop", "loop", "raise"),
)
NAMED: Mapping[str, Injection] = {injection.name: injection for injection in INJECTIONS}


@dataclass(frozen=True)
class Plan:
    """At `point` the first `times` calls fail."""

    point: str
    times: int


def article_plan(injection: Injection, points: Points) -> Plan:
    """As the article has it: always at the moment after the write."""
    return Plan(points.written, injection.times)


def random_plan(injection: Injection, points: Points, chance: random.Random) -> Plan:
    """At any moment of the call; what always fails in the article does so in a quarter of the runs, else once."""
    return Plan(chance.choice(points.all), chance.choice((1, 1, 1, injection.times)))
