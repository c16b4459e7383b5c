"""Inside a handler process: takes the cloud's plan and lets the process die, stall or raise where it says.

Imported by nothing that ships; the emulator's bootstrap imports it when the local cloud was started with a plan.
"""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

_LONGER_THAN_ANY_TIMEOUT_S = 3600

Arrived = Callable[[str], None]


class InjectedError(Exception):
    """An error of the handler, as a bug would raise it."""


class InjectedAbort(BaseException):
    """An end of the handler that nothing on the way catches."""


def arm() -> None:
    """Read the plan and install its hooks. Without a plan, nothing."""
    path = os.environ.get("LOCAL_HANDLER_FAULTS")
    if path is None:
        return
    plan = json.loads(Path(path).read_text())
    arrivals = Arrivals(Path(path).parent, plan["faults"])
    for hook in plan["hooks"]:
        importlib.import_module(hook).install(arrivals.arrived)


class Arrivals:
    """Counts arrivals in `folder`, so that a process that takes a dead one's place goes on counting."""

    def __init__(self, folder: Path, faults: Sequence[Mapping[str, Any]]) -> None:
        self._folder = folder
        self._faults = faults

    def arrived(self, point: str) -> None:
        for index, fault in enumerate(self._faults):
            if fault["point"] != point:
                continue
            number = self._count(index)
            if fault["after"] < number <= fault["after"] + fault["times"]:
                _DOES[fault["does"]]()

    def _count(self, index: int) -> int:
        """This arrival's number, from 1. The lock goes with the process, however it ends."""
        with arrivals_file(self._folder, index).open("a+") as counter:
            fcntl.flock(counter, fcntl.LOCK_EX)
            counter.write("x")
            counter.flush()
            return counter.tell()


def arrivals_file(folder: Path, index: int) -> Path:
    """One byte an arrival at the fault with this index."""
    return folder / f"arrivals-{index}"


def _raise() -> None:
    raise InjectedError("The local cloud's plan says so.")


def _abort() -> None:
    raise InjectedAbort("The local cloud's plan says so.")


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _sleep() -> None:
    time.sleep(_LONGER_THAN_ANY_TIMEOUT_S)


_DOES: Mapping[str, Callable[[], None]] = {"raise": _raise, "abort": _abort, "kill": _kill, "sleep": _sleep}
