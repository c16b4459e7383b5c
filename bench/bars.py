"""A measured number beside its bar, and the table of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Line:
    """One measurement. Without a `bar` (the most it may be) it is printed for comparison and cannot fail."""

    what: str
    value: float
    unit: str = ""
    bar: float | None = None
    note: str = ""

    @property
    def held(self) -> bool:
        return self.bar is None or self.value <= self.bar

    @property
    def verdict(self) -> str:
        if self.bar is None:
            return ""
        return "pass" if self.held else "FAIL"

    def to_json(self) -> Mapping[str, Any]:
        return {**vars(self), "held": self.held}


def rendered(line: Line) -> str:
    """One line of the table, as wide as it needs."""
    value = f"{line.value:,.3f}".rstrip("0").rstrip(".") if line.value % 1 else f"{line.value:,.0f}"
    bar = "" if line.bar is None else f"≤ {line.bar:,.6g}"
    text = f"{line.verdict:5}{line.what:58}{value:>12} {line.unit:6}{bar:>10}"
    return f"{text}  {line.note}".rstrip()


def all_held(lines: Iterable[Line]) -> bool:
    return all(line.held for line in lines)
