"""Work at a later time on a fixed number of threads: what every retry and every delivery runs on."""

from __future__ import annotations

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from typing import NoReturn

logger = logging.getLogger(__name__)

Job = Callable[[], None]


class Timers:
    """Runs each job not before its time, on at most `threads` daemon threads. A job that raises is logged."""

    def __init__(self, name: str, threads: int) -> None:
        self._due: list[tuple[float, int, Job]] = []
        self._order = itertools.count()
        self._changed = threading.Condition()
        for number in range(threads):
            threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True).start()

    def after(self, delay_s: float, job: Job) -> None:
        """Run `job` once, `delay_s` seconds from now or as soon as a thread is free."""
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + delay_s, next(self._order), job))
            self._changed.notify()

    def _work(self) -> NoReturn:
        while True:
            job = self._next()
            try:
                job()
            except Exception:
                logger.exception("a job of the local cloud failed")

    def _next(self) -> Job:
        with self._changed:
            while True:
                wait_s = self._due[0][0] - time.monotonic() if self._due else None
                if wait_s is not None and wait_s <= 0:
                    job = heapq.heappop(self._due)[2]
                    # Another thread has to watch for the next one: this one is busy from here on.
                    self._changed.notify()
                    return job
                self._changed.wait(wait_s)
