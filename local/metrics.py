"""The CloudWatch metrics that AWS would publish for what happens in the local cloud: kept in memory, and passed on."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

Sink = Callable[[str, str, float, Mapping[str, str]], None]


class Metrics:
    """Sums by namespace, name and dimensions. `sink` also gets every value (the emulator's CloudWatch)."""

    def __init__(self, sink: Sink | None = None) -> None:
        self._sums: Counter[tuple[str, str, tuple[tuple[str, str], ...]]] = Counter()
        self._lock = threading.Lock()
        self._sink = sink

    def count(self, namespace: str, name: str, dimensions: Mapping[str, str], value: int = 1) -> None:
        with self._lock:
            self._sums[namespace, name, tuple(sorted(dimensions.items()))] += value
        if self._sink is not None:
            self._sink(namespace, name, value, dimensions)

    def total(self, namespace: str, name: str) -> int:
        """The sum over every dimension, as a Metrics Insights query without a filter gives it."""
        with self._lock:
            return sum(
                value for (space, metric, _), value in self._sums.items() if (space, metric) == (namespace, name)
            )

    def listing(self) -> list[dict[str, Any]]:
        """One JSON-ready row a metric: namespace, name, dimensions, sum."""
        with self._lock:
            rows = sorted(self._sums.items())
        return [
            {"namespace": space, "name": name, "dimensions": dict(dimensions), "sum": value}
            for (space, name, dimensions), value in rows
        ]
