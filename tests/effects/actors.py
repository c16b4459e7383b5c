"""Callers of the effect core, stopped before and after every outside call and resumed whenever the test says.

A caller is a deterministic function of what it was told: the answers to its calls and the clock's. So a caller that
stands somewhere is its history, and it is moved by running it anew on a longer one. No threads, and it can be left
there for ever (a kill), or be resumed twice from one place (two schedules).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from functions.crash_points import armed
from functions.effects.states import Event

from .memory import Answer, response

POINTS = {f"effects.{event.name.lower()}.before": event for event in Event}
REQUEST = "request"
"""The call that leaves for the provider."""


@dataclass(frozen=True)
class Call:
    """An outside call that a caller is about to make. `event` names the move that a write is meant to make."""

    operation: str
    request: str
    event: Event | None = None

    @property
    def writes(self) -> bool:
        return self.operation in {"put_item", "update_item"}


@dataclass(frozen=True)
class Failed:
    """The call raised: the table is throttled, or the answer did not come (and boto3 gave up)."""

    throttled: bool


@dataclass(frozen=True)
class Told:
    """What the caller was told in the end: the stored state and outcome, or the name of an error."""

    state: str = ""
    outcome: str | None = None
    error: str = ""


Entry = Answer | Failed | str | float
"""One thing that a caller was told: a table's answer, a failure, the name of the provider's reply, or the time."""
Program = Callable[["Outside"], Told]


class _Stopped(BaseException):
    """The caller stands before an outside call."""


class Outside:
    """Everything outside of a caller, answered from its history. The clock goes on at `now` where that ends."""

    def __init__(self, history: tuple[Entry, ...], now: float) -> None:
        self.told = list(history)
        self._next = 0
        self._now = now
        self.waits_for: Call | None = None
        self.requests: dict[str, Mapping[str, Any]] = {}
        self._point = ""

    def clock(self) -> float:
        if self._next == len(self.told):
            self.told.append(self._now)
        now = self.told[self._next]
        assert isinstance(now, float)
        self._next += 1
        return now

    def call(self, operation: str, request: Mapping[str, Any]) -> Any:
        if self._next == len(self.told):
            text = canonical(request)
            _REQUESTS[text] = request
            self.waits_for = Call(operation, text, POINTS.get(self._point))
            raise _Stopped
        entry = self.told[self._next]
        self._next += 1
        if isinstance(entry, Failed):
            if entry.throttled:
                raise ClientError({"Error": {"Code": "ProvisionedThroughputExceededException"}}, operation)
            raise ReadTimeoutError(endpoint_url="https://dynamodb")
        return response(operation, entry) if isinstance(entry, Answer) else entry

    def reached(self, point: str) -> None:
        self._point = point

    def __getattr__(self, operation: str) -> Any:
        # The table's client: every method that is asked for is an outside call.
        if operation not in {"get_item", "put_item", "update_item"}:
            raise AttributeError(operation)
        return lambda **request: self.call(operation, request)


_REQUESTS: dict[str, Mapping[str, Any]] = {}


def canonical(request: Mapping[str, Any]) -> str:
    return repr(sorted(request.items()))


def request_of(call: Call) -> Mapping[str, Any]:
    return _REQUESTS[call.request]


@cache
def advance(program: Program, history: tuple[Entry, ...], now: float) -> tuple[tuple[Entry, ...], Call | Told]:
    """Run the caller on to its next outside call, or to its end; and its history with the times it read."""
    outside = Outside(history, now)
    try:
        with armed(outside.reached):
            end: Call | Told = program(outside)
    except _Stopped:
        assert outside.waits_for is not None
        end = outside.waits_for
    return tuple(outside.told), end
