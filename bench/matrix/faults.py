"""The lines of the fault matrix, as data.

The nine rows "Lead 000001" to "Lead 000009" are those that a fault of single rows hits. Delays of the model are in
model deadlines here.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bench.matrix.contender import Fault, HandlerFault

NINE = "Lead 00000"
ALL = "Lead"
ROWS = 20


def _model(name: str, injects: str, then: Mapping[str, Any], *, of: str = NINE, times: int | None = None) -> Fault:
    rule: dict[str, Any] = {"when": {"contains": of}, "then": then}
    return Fault(name, injects, ROWS, claude=[rule if times is None else {**rule, "times": times}])


def _service(name: str, injects: str, *rules: Mapping[str, Any], **more: Any) -> Fault:
    return Fault(name, injects, ROWS, aws=rules, **more)


def _write(operation: str, then: Mapping[str, Any], times: int) -> Mapping[str, Any]:
    return {
        "when": {"service": "dynamodb", "operation": operation, "caller": "<worker>"},
        "times": times,
        "then": then,
    }


def _handler(name: str, injects: str, fault: HandlerFault) -> Fault:
    return Fault(name, injects, ROWS, handler=fault)


_THROTTLED = {"status": 400, "code": "ThrottlingException"}
_PUBLISH = {"service": "events", "operation": "PutEvents", "caller": "<publisher>"}
_NEVER = 1_000
_LATER = 1.5
"""After the model's deadline, before the function's timeout."""
_DEADLINE_S, _TIMEOUT_S = 3.0, 6
"""At pace 1. A queue hides a message for six timeouts, so each of them is waited for in many lines."""

BASELINE = (Fault("nothing", "no fault at all", ROWS),)
HANDLER = (
    _handler("raise-before-send", "the handler raises before the send", HandlerFault("before_send", "raise", 10)),
    _handler("raise-sent", "it ends with its request under way", HandlerFault("sent", "raise", 10)),
    _handler("raise-answered", "it raises between answer and save", HandlerFault("answered", "raise", 10)),
    _handler("sleep-sent", "it sleeps past its timeout, request under way", HandlerFault("sent", "sleep", 2)),
    _handler("sleep-answered", "it sleeps past its timeout, answer in hand", HandlerFault("answered", "sleep", 2)),
    _handler("kill-answered", "SIGKILL between answer and save", HandlerFault("answered", "kill", 2)),
    Fault("kills", "SIGKILL at 20 random moments of 500 rows", 500, kills=20),
)
MODEL = (
    _model("400", "the model answers 400 for nine rows", {"status": 400}),
    _model("401", "401 for every row", {"status": 401}, of=ALL),
    _model("402", "402 for every row", {"status": 402}, of=ALL),
    _model("413", "413 for nine rows", {"status": 413}),
    _model("429", "429 for nine requests", {"status": 429}, times=9),
    _model(
        "429-retry-after",
        "429 with retry-after 2 for nine requests",
        {"status": 429, "headers": {"retry-after": "2"}},
        times=9,
    ),
    _model(
        "429-spend-limit", "429, spend limit reached", {"status": 429, "code": "enforced_spend_limit_reached"}, of=ALL
    ),
    _model("500", "500 for nine rows", {"status": 500}),
    _model("503", "503 for nine requests", {"status": 503}, times=9),
    _model("529", "529 for nine requests", {"status": 529}, times=9),
    _model("no-answer", "no answer for nine rows", {"delay_s": _NEVER}),
    _model("dropped-unread", "the connection drops before nine are read", {"drop": "before_reading"}),
    _model("half-body", "half a body for nine rows", {"drop": "in_the_answer"}),
    _model("html-200", "200 with HTML for nine rows", {"status": 200, "body": "<html>Sorry</html>"}),
    _model("html-502", "502 with HTML for nine rows", {"status": 502, "body": "<html>Bad gateway</html>"}),
    _model("late-answer", "the answer comes after the deadline, for nine rows", {"delay_s": _LATER}),
)
SERVICES = (
    _service("claims-throttled", "DynamoDB throttles 30 PutItem", _write("PutItem", _THROTTLED, 30)),
    _service("saves-throttled", "DynamoDB throttles 30 UpdateItem", _write("UpdateItem", _THROTTLED, 30)),
    _service("claims-lost", "DynamoDB loses the answers of 10 PutItem", _write("PutItem", {"lost": "answer"}, 10)),
    _service("saves-lost", "DynamoDB loses the answers of 10 UpdateItem", _write("UpdateItem", {"lost": "answer"}, 10)),
    _service(
        "put-events",
        "PutEvents fails entries, throttles, loses an answer",
        {"when": _PUBLISH, "times": 1, "then": {"entries": [3, 7], "code": "InternalFailure"}},
        {"when": _PUBLISH, "times": 2, "then": {"status": 429, "code": "ThrottlingException"}},
        {"when": _PUBLISH, "times": 1, "then": {"lost": "answer"}},
    ),
    _service(
        "dlq-not-writable",
        "400 for nine rows, and the DLQ is not writable",
        {
            "when": {"service": "sqs", "operation": "SendMessage", "resource": "<dead_letters>"},
            "then": {"status": 403, "code": "AccessDenied"},
        },
        claude=[{"when": {"contains": NINE}, "then": {"status": 400}}],
        # Each failing write to it costs a receive, and a receive the time that the queue hides a message.
        context={"max_receives": "2"},
    ),
)
EVENTS = (
    Fault("event-twice", "S3 delivers the event twice", ROWS, action="event_twice"),
    Fault("two-versions", "two versions of a key at once, same rows", ROWS, action="two_versions"),
)
_LINES: Sequence[Fault] = (*BASELINE, *HANDLER, *MODEL, *SERVICES, *EVENTS)


def faults(pace: float = 1.0) -> Sequence[Fault]:
    """All lines. `pace` stretches the worker's timers: where others work too, 1 would add faults of the machine's."""
    return [_at_pace(line, pace) for line in _LINES]


def _at_pace(line: Fault, pace: float) -> Fault:
    deadline_s, timeout_s = _DEADLINE_S * pace, math.ceil(_TIMEOUT_S * pace)
    timers = {
        "model_deadline_s": f"{deadline_s:g}",
        "classify_timeout_s": str(timeout_s),
        # Ten times what a queue hides a message for, as deployed: what only waits to be received does not stall.
        "stall_s": str(10 * 6 * timeout_s),
    }
    rules = [{**rule, "then": _delayed(rule["then"], deadline_s)} for rule in line.claude]
    return dataclasses.replace(line, claude=rules, context={**timers, **line.context})


def _delayed(then: Mapping[str, Any], deadline_s: float) -> Mapping[str, Any]:
    return {**then, "delay_s": min(then["delay_s"] * deadline_s, 3600)} if "delay_s" in then else then
