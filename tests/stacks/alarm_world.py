"""The synthesized alarms over simulated minutes: what is emitted goes in, states and notices come out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from local.alarms.datapoints import MINUTE_S, Datapoints, Metric
from local.alarms.definition import Definition, read_alarm
from local.alarms.evaluation import State, next_state, values_of
from tests.stacks.templates import Resource, Templates

DEPTH = "ApproximateNumberOfMessagesVisible"


def resolved(value: Any, inside: Resource, templates: Templates) -> Any:
    """A property with every reference to a resource replaced by that resource's name in the tests."""
    if isinstance(value, dict):
        if value.keys() & {"Ref", "Fn::GetAtt", "Fn::ImportValue"}:
            return repr(templates.named(value, inside))
        return {name: resolved(each, inside, templates) for name, each in value.items()}
    if isinstance(value, list):
        return [resolved(each, inside, templates) for each in value]
    return value


def alarm_properties(templates: Templates) -> dict[str, Mapping[str, Any]]:
    """Of every alarm, by its name without the deployment's."""
    found = {}
    for alarm in templates.of_type("AWS::CloudWatch::Alarm"):
        properties = resolved(alarm.properties, alarm, templates)
        found[properties["AlarmName"].partition("-")[2]] = properties
    return found


@dataclass(frozen=True)
class Change:
    alarm: str
    old: State
    new: State


@dataclass
class Watch:
    """Every alarm of a deployment. `depths` are the messages in each queue that was ever used; SQS reports them."""

    alarms: Mapping[str, Mapping[str, Any]]
    scheduled: set[str]
    depths: dict[str, int] = field(default_factory=dict)
    waiting_s: dict[str, float] = field(default_factory=dict)
    notices: Counter[tuple[str, State]] = field(default_factory=Counter)
    _now: float = 1_000_000 * MINUTE_S
    _datapoints: Datapoints = field(default_factory=Datapoints)

    def __post_init__(self) -> None:
        self._definitions: dict[str, Definition] = {name: read_alarm(each) for name, each in self.alarms.items()}
        self.states: dict[str, State] = dict.fromkeys(self.alarms, "INSUFFICIENT_DATA")

    def minute(self, *emitted: tuple[Metric, float], ticks: bool = True, ago_s: float = 0) -> list[Change]:
        """One minute in which this was emitted, beside what AWS emits every minute; the changes at its end.

        `ago_s`: how long before that is what it is stamped with.
        """
        at = self._now + MINUTE_S / 2
        for function in self.scheduled if ticks else ():
            self._datapoints.add(Metric.of("AWS/Lambda", "Invocations", {"FunctionName": function}), 1, at)
        for queue, depth in self.depths.items():
            self._datapoints.add(Metric.of("AWS/SQS", DEPTH, {"QueueName": queue}), depth, at)
        for queue, age_s in self.waiting_s.items():
            self._datapoints.add(Metric.of("AWS/SQS", "ApproximateAgeOfOldestMessage", {"QueueName": queue}), age_s, at)
        for metric, value in emitted:
            self._datapoints.add(metric, value, at - ago_s)
        self._now += MINUTE_S
        return [change for name in self.alarms if (change := self._look(name)) is not None]

    def minutes(self, count: int, *, ticks: bool = True) -> list[Change]:
        return [change for _ in range(count) for change in self.minute(ticks=ticks)]

    def on(self) -> set[str]:
        return {name for name, state in self.states.items() if state == "ALARM"}

    def _look(self, name: str) -> Change | None:
        definition, old = self._definitions[name], self.states[name]
        new = next_state(definition, values_of(definition, self._datapoints, self._now), old)
        if new == old:
            return None
        self.states[name] = new
        told = self.alarms[name].get({"ALARM": "AlarmActions", "OK": "OKActions"}.get(new, ""), [])
        self.notices[name, new] += len(told)
        return Change(name, old, new)
