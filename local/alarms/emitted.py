"""Which of AWS's metrics the local cloud emits. What is not here is not counted, and an alarm on it is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from local.alarms.definition import Measured, read_alarm
from local.alarms.expressions import Query

_ROWS = (
    (
        "AWS/Lambda",
        ("FunctionName",),
        "AsyncEventsDropped DestinationDeliveryFailures Duration Errors Invocations "
        "RecursiveInvocationsDropped Throttles",
    ),
    (
        "AWS/SQS",
        ("QueueName",),
        "ApproximateAgeOfOldestMessage ApproximateNumberOfMessagesVisible NumberOfMessagesReceived",
    ),
    (
        "AWS/Events",
        ("RuleName",),
        "FailedInvocations Invocations InvocationsFailedToBeSentToDlq InvocationsSentToDlq",
    ),
    ("AWS/States", ("StateMachineArn",), "ExecutionsFailed"),
    (
        "AWS/EventsV2",
        ("EventBus", "Subscriber"),
        "EventDeliveryAttempts EventsDelivered EventsDropped FilterEvaluated FilterMatched "
        "OnFailureDestinationDelivered OnFailureDestinationFailed RetryInvocationAttempts TargetInvocations",
    ),
    (
        "AWS/EventsV2",
        ("EventBus",),
        "PublishEventsApproximateCallCount PublishEventsEntryCount PublishEventsFailedEntriesCount",
    ),
)
EMITTED: Mapping[tuple[str, str], frozenset[str]] = {
    (namespace, name): frozenset(dimensions) for namespace, dimensions, names in _ROWS for name in names.split()
}
"""Namespace and metric -> the names of its dimensions. Of the spellings that AWS documents of one metric, the one of
its table of metrics. What functions count themselves (the embedded metric format) is collected whatever its name."""


def is_emitted(namespace: str, name: str, dimensions: Iterable[str]) -> bool:
    return not namespace.startswith("AWS/") or EMITTED.get((namespace, name)) == frozenset(dimensions)


def not_emitted(alarm: Mapping[str, Any]) -> list[str]:
    """The metrics that an alarm watches and nothing here emits; all it watches: it can never go off here."""
    return [f"{space} {name}" for space, name, dimensions in _watched(alarm) if not is_emitted(space, name, dimensions)]


def is_silent(alarm: Mapping[str, Any]) -> bool:
    """Whether nothing at all that the alarm watches is emitted here."""
    return len(not_emitted(alarm)) == len(list(_watched(alarm)))


def _watched(alarm: Mapping[str, Any]) -> Iterator[tuple[str, str, Iterable[str]]]:
    for source in read_alarm(alarm).sources.values():
        match source:
            case Measured(metric):
                yield metric.namespace, metric.name, metric.dimension_names
            case Query(_, namespace, name, names):
                yield namespace, name, EMITTED.get((namespace, name), frozenset()) if names is None else names
