"""The points of our own functions: their crash points, by their names."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from functions import crash_points

# Held, or the context would be closed again with its last reference.
_ARMED = ExitStack()


def install(arrived: Callable[[str], None]) -> None:
    """Armed for as long as the process lives."""
    _ARMED.enter_context(crash_points.armed(arrived))
