"""SIGKILL to the worker's processes at random moments of the work: random, but the same in every run."""

from __future__ import annotations

import random

from bench.matrix.naive.cloud import NaiveCloud
from bench.matrix.naive.ending import waiting
from bench.matrix.naive.template import FUNCTION
from bench.processes import Processes

_WORKER = "worker"
_SEED = 20


class RandomKills:
    """`wanted` kills, each as soon as a random number of requests was made, which differ and are below `rows`."""

    def __init__(self, cloud: NaiveCloud, rows: int, wanted: int) -> None:
        self._cloud = cloud
        self._processes = Processes(cloud.process_group, {_WORKER: FUNCTION})
        self._left = sorted(random.Random(_SEED).sample(range(rows), wanted))

    @property
    def over(self) -> bool:
        return not self._left

    def strike(self) -> None:
        """Kill if it is time and a row is still open; else do nothing."""
        if self._left and (self._cloud.model_requests or 0) >= self._left[0] and self._kill():
            self._left.pop(0)

    def _kill(self) -> bool:
        return self._processes.kill_if(_WORKER, lambda: waiting(self._cloud) > 0)
