"""What the crash points cost while nothing is armed: crossings a row, times one, beside the worker's own work."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from bench.account import INVOCATION_S, account
from bench.leads import leads
from bench.model import Model
from bench.rows import emulator_time
from functions.crash_points import armed, crossing

_ROUNDS = 200_000


def crossings(rows: str) -> Any:
    """Of rows that are classified one by one: crossings a row, the CPU of one unarmed, and that of a row in
    microseconds, without the emulator's own."""

    def run() -> Mapping[str, Any]:
        content, model = "".join(leads(2 * int(rows))).encode(), Model()
        with account() as aws:
            aws.upload(content)
            worker = aws.worker(model.ask)
            bodies = list(aws.bus.events.values())
            counted, timed = bodies[: int(rows)], bodies[int(rows) :]
            points: list[str] = []
            with armed(points.append):
                for body in counted:
                    worker.handle(aws.messages([body]), time.time() + INVOCATION_S)
            with emulator_time() as inside:
                begun = time.process_time()
                for body in timed:
                    worker.handle(aws.messages([body]), time.time() + INVOCATION_S)
                spent = time.process_time() - begun - inside[0]
        return {
            "a_row": sum(point.endswith(".before") for point in points) / len(counted),
            "one_us": unarmed_us(),
            "row_us": spent / len(timed) * 1e6,
        }

    return run


def unarmed_us() -> float:
    """An unarmed crossing in microseconds of CPU, beside an empty loop."""
    rounds = range(_ROUNDS)
    begun = time.process_time()
    for _ in rounds:
        pass
    empty = time.process_time() - begun
    begun = time.process_time()
    for _ in rounds:
        with crossing("bench.call"):
            pass
    return max(0.0, time.process_time() - begun - empty) / _ROUNDS * 1e6
