"""SIGKILLs of a worker's processes at random moments, while rows are open."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

from bench.processes import Processes

SHORTEST_S, LONGEST_S = 0.05, 1.5
"""Between two kills, drawn evenly: shorter and longer than what a batch takes."""


class Kills:
    """Kills processes of `role` until `wanted` kills have happened or nothing is open; `done` counts them."""

    def __init__(
        self, processes: Processes, role: str, wanted: int, still_open: Callable[[], bool], seed: int = 1
    ) -> None:
        self._processes = processes
        self._role = role
        self._wanted = wanted
        self._still_open = still_open
        self._random = random.Random(seed)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="kills", daemon=True)
        self.done = 0

    def start(self) -> None:
        if self._wanted:
            self._thread.start()

    def stop(self) -> None:
        """Kill no more, and wait for a kill that is under way."""
        self._stop.set()
        if self._wanted:
            self._thread.join()

    def _run(self) -> None:
        while self.done < self._wanted and not self._stop.wait(self._random.uniform(SHORTEST_S, LONGEST_S)):
            self.done += self._processes.kill_if(self._role, self._still_open)
