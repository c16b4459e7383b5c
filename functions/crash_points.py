"""Named crash points around every outside call. Tests arm one and the process "dies" there; unarmed they do nothing.

A kill is a `BaseException`, so that no `except Exception` on the way can tidy up after it, as with a real kill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import NoReturn


class Killed(BaseException):
    """The invocation ended at this point; nothing after it ran."""


_armed: Callable[[str], None] | None = None


class crossing:  # noqa: N801 - reads as a statement, like the context managers of contextlib
    """Stands around one outside call: ``with crossing("<folder>.<operation>"): …``.

    Its points are ``<folder>.<operation>.before`` and, where the call was answered without an error, ``….after``.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        if _armed is not None:
            _armed(f"{self._name}.before")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if _armed is not None and kind is None:
            _armed(f"{self._name}.after")


def reach(point: str) -> None:
    """A point of its own inside an outside call."""
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
