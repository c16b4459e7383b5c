"""CloudWatch's alarms: MiniStack refuses metric math and queries, ignores dimensions and never returns to OK.

Here all deployed alarms are kept, and each is evaluated once a minute of this cloud, which lasts `minute_s` seconds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from local.alarms.datapoints import MINUTE_S, Datapoints, Metric, Series
from local.alarms.definition import Definition, read_alarm
from local.alarms.evaluation import State, next_state, values_of
from local.alarms.expressions import ExpressionError
from local.emulator import Emulator

_OF_ONE_METRIC = ("MetricName", "Namespace", "Statistic", "ExtendedStatistic", "Period", "Dimensions", "Unit")


class Alarms:
    """Collects what is measured, and moves the emulator's alarms. `evaluate` runs on the event loop's thread."""

    def __init__(self, emulator: Emulator, *, minute_s: float) -> None:
        self._emulator = emulator
        self._scale = MINUTE_S / minute_s
        self._datapoints = Datapoints()

    def install(self) -> None:
        cloudwatch, provisioners = self._emulator.cloudwatch, self._emulator.provisioners
        record, store = cloudwatch.record_metric, cloudwatch._store_datum
        of_one = provisioners._cw_metric_alarm_record

        def record_metric(
            namespace: str, name: str, value: float, unit: str = "None", dimensions: Mapping[str, str] | None = None
        ) -> None:
            self.measure(Metric.of(namespace, name, dimensions or {}), value)
            record(namespace, name, value, unit, dimensions)

        def store_datum(namespace: str, name: str, dimensions: Mapping[str, str], at: float, *rest: Any) -> None:
            store(namespace, name, dimensions, at, *rest)
            _, value, values, counts, _ = rest
            for each, count in zip(values or [value or 0], counts or [1] * len(values or [0]), strict=True):
                self.measure(Metric.of(namespace, name, dimensions), float(each), at, float(count))

        def alarm_record(name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
            alarm = _kept_whole(of_one, name, properties)
            _definition(alarm)
            return alarm

        cloudwatch.record_metric, cloudwatch._store_datum = record_metric, store_datum
        # Evaluated by the clock alone: an alarm that looks when something is measured never sees that nothing is.
        cloudwatch._evaluate_alarm = lambda _alarm: None
        provisioners._cw_metric_alarm_record = alarm_record

    def measure(self, metric: Metric, value: float, at: float | None = None, count: float = 1.0) -> None:
        """`at`: seconds since the epoch, as everybody's clock shows them; now where it is not given."""
        self._datapoints.add(metric, value, self.scaled(time.time() if at is None else at), count)

    def scaled(self, seconds: float) -> float:
        """A time or a duration in this cloud's seconds, of which an alarm's periods are made."""
        return seconds * self._scale

    def evaluate(self) -> None:
        """Look at every alarm once, and tell whoever is to be told of a change."""
        now = self.scaled(time.time())
        for (account, region, _), alarm in list(self._emulator.cloudwatch._alarms.all_items()):
            with self._emulator.responses.request_scope(account, region):
                self._look(alarm, now)

    def _look(self, alarm: dict[str, Any], now: float) -> None:
        definition = _definition(alarm)
        if definition is None:
            return
        values = values_of(definition, self._datapoints, now)
        old = alarm["StateValue"]
        new = next_state(definition, values, old)
        if new != old:
            self._move(alarm, old, new, _reason(definition, values))

    def _move(self, alarm: dict[str, Any], old: State, new: State, reason: str) -> None:
        cloudwatch = self._emulator.cloudwatch
        alarm.update(StateValue=new, StateReason=reason, StateUpdatedTimestamp=int(time.time()))
        cloudwatch._record_history(alarm["AlarmName"], old, new, reason)
        cloudwatch._dispatch_alarm_actions(alarm, old, new, reason)
        cloudwatch._evaluate_parent_alarms(alarm)


def _definition(alarm: dict[str, Any]) -> Definition | None:
    """None for an alarm that is not evaluated here; it says so itself, as one with a faulty expression does on AWS."""
    try:
        return read_alarm(alarm)
    except ExpressionError as error:
        alarm.update(EvaluationState="EVALUATION_ERROR", StateReason=str(error))
        return None


def _kept_whole(of_one: Any, name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """The emulator's record of an alarm, also of one over metric math, which it would refuse."""
    metrics = properties.get("Metrics")
    if not metrics:
        return dict(of_one(name, properties))
    rest = {key: value for key, value in properties.items() if key != "Metrics"}
    alarm = of_one(name, {**rest, "MetricName": "none", "Namespace": "none"})
    kept = {key: value for key, value in alarm.items() if key not in _OF_ONE_METRIC}
    return {**kept, "Metrics": metrics}


def _reason(definition: Definition, values: Series) -> str:
    newest = [value for value in values if value is not None][-definition.evaluation_periods :]
    told = ", ".join(f"{value:g}" for value in newest) or f"no datapoints, which count as {definition.missing}"
    return f"Threshold Crossed: {told} ({definition.comparison} {definition.threshold:g})."
