"""Named crash points around every outside call. Tests arm one and the process "dies" there; unarmed they do nothing.

A kill is a `BaseException`, so that no `except Exception` on the way can tidy up after it, as with a real kill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn


class Killed(BaseException):
    """The invocation ended at this point; nothing after it ran."""


_armed: Callable[[str], None] | None = None


def reach(point: str) -> None:
    """Called by production code as ``reach("<folder>.<call>.before")`` and ``….after``; free when nothing is armed."""
    if _armed is not None:
        _armed(point)


@contextmanager
def armed(hook: Callable[[str], None]) -> Iterator[None]:
    """While open, every point reached is passed to `hook`, which may raise `Killed`. For tests only."""
    global _armed  # noqa: PLW0603 - one switch for the process, thrown by tests alone
    _armed = hook
    try:
        yield
    finally:
        _armed = None


def kill_at(point: str, times: int = 1) -> Callable[[str], None]:
    """A hook that kills the first `times` arrivals at `point`."""
    left = [times]

    def hook(reached: str) -> None:
        if reached == point and left[0] > 0:
            left[0] -= 1
            _die(point)

    return hook


def _die(point: str) -> NoReturn:
    raise Killed(point)
