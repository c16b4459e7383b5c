"""What was measured: by metric and minute, as CloudWatch keeps it. Times are seconds since the epoch."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

MINUTE_S = 60
KEPT_MINUTES = 24 * 60
"""As far as an alarm with a period under an hour may look back (PutMetricAlarm)."""

Series = list[float | None]
"""A value a period, the oldest first; None where nothing was measured."""


@dataclass(frozen=True, slots=True)
class Metric:
    """Two metrics are the same when all three are: CloudWatch knows no prefix, no case folding and no subset."""

    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, namespace: str, name: str, dimensions: Mapping[str, str]) -> Self:
        return cls(namespace, name, tuple(sorted(dimensions.items())))

    @property
    def dimension_names(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.dimensions)


@dataclass(slots=True)
class _Measured:
    count: float = 0.0
    total: float = 0.0
    low: float = float("inf")
    high: float = float("-inf")

    def add(self, value: float, count: float) -> None:
        self.count += count
        self.total += value * count
        self.low, self.high = min(self.low, value), max(self.high, value)

    def join(self, other: _Measured) -> None:
        self.count += other.count
        self.total += other.total
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)


STATISTICS: Mapping[str, Callable[[_Measured], float]] = {
    "Sum": lambda measured: measured.total,
    "Average": lambda measured: measured.total / measured.count,
    "Minimum": lambda measured: measured.low,
    "Maximum": lambda measured: measured.high,
    "SampleCount": lambda measured: measured.count,
}


class Datapoints:
    """Thread-safe; keeps the newest `KEPT_MINUTES` minutes of each metric in which something was measured."""

    def __init__(self) -> None:
        self._minutes: dict[Metric, dict[int, _Measured]] = defaultdict(dict)
        self._lock = threading.Lock()

    def add(self, metric: Metric, value: float, at: float, count: float = 1.0) -> None:
        """`count` samples of this value."""
        minute = int(at // MINUTE_S)
        with self._lock:
            minutes = self._minutes[metric]
            if minute not in minutes:
                minutes[minute] = _Measured()
                if len(minutes) > KEPT_MINUTES:
                    del minutes[min(minutes)]
            minutes[minute].add(value, count)

    def series(self, metrics: Iterable[Metric], statistic: str, ends: Sequence[float], period_s: int) -> Series:
        """For each period that ends at one of `ends`, the statistic over the samples of all these metrics together."""
        with self._lock:
            found = [self._minutes[metric] for metric in metrics if metric in self._minutes]
            if not found:
                return [None] * len(ends)
            return [self._one(found, statistic, end, period_s) for end in ends]

    def matching(self, namespace: str, name: str, dimension_names: frozenset[str] | None) -> list[Metric]:
        """The metrics of this name; where dimension names are given, those with exactly these."""
        with self._lock:
            return [
                metric
                for metric in self._minutes
                if (metric.namespace, metric.name) == (namespace, name)
                and dimension_names in (None, metric.dimension_names)
            ]

    @staticmethod
    def _one(found: Sequence[Mapping[int, _Measured]], statistic: str, end: float, period_s: int) -> float | None:
        last = int(end // MINUTE_S)
        span = range(last - period_s // MINUTE_S, last)
        parts = [minutes[minute] for minutes in found for minute in span if minute in minutes]
        if not parts:
            return None
        measured = _Measured()
        for part in parts:
            measured.join(part)
        return STATISTICS[statistic](measured)
