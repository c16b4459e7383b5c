"""SIGKILLs of a worker's processes at random moments of an upload: by its progress, so that no machine is too slow."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable

from bench.processes import Processes
from local.running import RunningCloud

MOST_REQUESTS = 15
"""From one kill to the next the worker makes one to so many model requests, drawn evenly."""
MOST_DELAY_S = 0.05
"""After the last of them the kill comes up to so much later: before its answer, after it, or between two batches."""
_LOOK_S = 0.01


class Kills:
    """Kills the processes of `role` until `wanted` kills have happened; `done` counts them."""

    def __init__(
        self, cloud: RunningCloud, processes: Processes, role: str, wanted: int, still_open: Callable[[], bool]
    ) -> None:
        self._cloud = cloud
        self._processes = processes
        self._role = role
        self._wanted = wanted
        self._still_open = still_open
        self._random = random.Random(wanted)
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
        due = self._drawn(0)
        while self.done < self._wanted and not self._stop.wait(_LOOK_S):
            requests = self._cloud.model_counts()["model_requests"]
            if requests < due:
                continue
            time.sleep(self._random.uniform(0, MOST_DELAY_S))
            if self._processes.kill_if(self._role, self._still_open):
                self.done += 1
                due = self._drawn(requests)

    def _drawn(self, requests: int) -> int:
        return requests + self._random.randint(1, MOST_REQUESTS)
