"""How much was explored: tests add to it, and the end of a run says it, of all its processes together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

_counts: Counter[str] = Counter()


def explored(kind: str, number: int) -> None:
    """Add to the number of this kind of thing ("crash points", "schedules", …) that a test went through."""
    _counts[kind] += number


def hand_over(session: pytest.Session) -> None:
    """Of a process of pytest-xdist, to the one that began it."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["explored"] = dict(_counts)


def take_over(output: Mapping[str, Any]) -> None:
    """What a process has handed over at its end."""
    _counts.update(output.get("explored", {}))


def told() -> list[str]:
    """A line for each kind."""
    return [f"explored {number:,} {kind}" for kind, number in sorted(_counts.items())]
