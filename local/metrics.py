"""The CloudWatch metrics that AWS would publish for what happens in the local cloud: kept in memory, and passed on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from local.alarms.emitted import is_emitted

Sink = Callable[[str, str, float, Mapping[str, str]], None]


class Metrics:
    """Sums by namespace, name and dimensions. `sink` also gets every value (the emulator's CloudWatch)."""

    def __init__(self, sink: Sink | None = None) -> None:
        self._sums: dict[tuple[str, str, tuple[tuple[str, str], ...]], float] = {}
        self._lock = threading.Lock()
        self._sink = sink

    def count(self, namespace: str, name: str, dimensions: Mapping[str, str], value: float = 1) -> None:
        if not is_emitted(namespace, name, dimensions):
            raise ValueError(f"{namespace} {name} is missing in the table of what the local cloud emits.")
        key = (namespace, name, tuple(sorted(dimensions.items())))
        with self._lock:
            self._sums[key] = self._sums.get(key, 0) + value
        if self._sink is not None:
            self._sink(namespace, name, value, dimensions)

    def total(self, namespace: str, name: str) -> float:
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
