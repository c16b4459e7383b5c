"""Faults of the AWS services, as data: a list of rules, the first that matches and is not used up decides.

A rule is `{"when": …, "after": n, "times": k, "then": …}`. `when` names any of `service` (signing name), `operation`
(as in the API), `resource` (text in the name of a table, queue, topic, bus, bucket or function) and `caller` (text in
the name of the function that asks; without it also whoever stands outside). `after` requests that match pass first
(default 0); then `times` are hit (default: all). `then` is one of
`{"status": n, "code": …}`: an error, nothing is done;
`{"applied": true, "status": n, "code": …}`: an error, though everything was done;
`{"lost": "request" | "answer"}`: the connection ends without a whole answer, before or after everything was done;
`{"entries": [i, …], "code": …}`: those entries of a PutEvents, counted from 0, fail, the others are published;
`{"delay_s": seconds}`: done late; it may also accompany each of the others.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from local.errors import FaultRuleError


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class When(_Part):
    service: str = ""
    operation: str = ""
    resource: str = ""
    caller: str = ""

    @model_validator(mode="after")
    def _names_something(self) -> When:
        if not (self.service or self.operation or self.resource or self.caller):
            raise ValueError("it names no service, operation, resource or caller")
        return self


class Then(_Part):
    status: int | None = Field(None, ge=400, le=599)
    code: str = ""
    message: str = "This is a fault of the local cloud's rules."
    applied: bool = False
    lost: Literal["request", "answer"] | None = None
    entries: tuple[int, ...] = ()
    delay_s: float = Field(0.0, ge=0, le=3600)

    @model_validator(mode="after")
    def _is_one_thing(self) -> Then:
        kinds = [self.status is not None, self.lost is not None, bool(self.entries)]
        if sum(kinds) > 1 or not (any(kinds) or self.delay_s):
            raise ValueError("it takes exactly one of an error, a loss, failing entries, or a delay alone")
        if bool(self.code) != (self.status is not None or bool(self.entries)):
            raise ValueError("a code belongs to an error or to failing entries, and they to a code")
        if self.applied and self.status is None:
            raise ValueError("applied belongs to an error")
        return self


class FaultRule(_Part):
    when: When
    after: int = Field(0, ge=0)
    times: int | None = Field(None, ge=1)
    then: Then

    @model_validator(mode="after")
    def _has_entries(self) -> FaultRule:
        if self.then.entries and (self.when.service, self.when.operation) != ("events", "PutEvents"):
            raise ValueError("entries fail in a PutEvents of events only")
        return self


@dataclass(frozen=True)
class Asked:
    """A request as rules see it; `caller` is the function that signed it, or empty."""

    service: str
    operation: str
    resource: str
    caller: str


class FaultRules:
    """Counts what matched. Called on the server's event loop and, by tests, from anywhere."""

    def __init__(self, rules: Sequence[FaultRule]) -> None:
        self._rules = rules
        self._seen: Counter[int] = Counter()
        self._lock = threading.Lock()

    def match(self, asked: Asked) -> Then | None:
        """What is to happen to this request; None: nothing."""
        with self._lock:
            for index, rule in enumerate(self._rules):
                if not _matches(rule.when, asked):
                    continue
                self._seen[index] += 1
                hit = self._seen[index] - rule.after
                if hit >= 1 and (rule.times is None or hit <= rule.times):
                    return rule.then
        return None

    def counts(self) -> list[int]:
        """How often each rule decided."""
        with self._lock:
            return [
                min(max(0, self._seen[index] - rule.after), rule.times or self._seen[index])
                for index, rule in enumerate(self._rules)
            ]


def parse_rules(raw: Sequence[Mapping[str, Any]]) -> tuple[FaultRule, ...]:
    """Raises `FaultRuleError` with the rule's number, counted from 1, and what is wrong with it."""
    return tuple(_rule(number, each) for number, each in enumerate(raw, start=1))


def _rule(number: int, raw: Mapping[str, Any]) -> FaultRule:
    try:
        return FaultRule.model_validate(raw)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"])) or "it"
        raise FaultRuleError(f"Fault rule {number}: {where}: {fault['msg']}.") from None


def _matches(when: When, asked: Asked) -> bool:
    return (
        when.service in ("", asked.service)
        and when.operation in ("", asked.operation)
        and when.resource in asked.resource
        and when.caller in asked.caller
    )
