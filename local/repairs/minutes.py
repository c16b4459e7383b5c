"""What happens in the emulator once a minute of this cloud."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

logger = logging.getLogger(__name__)

_AFTER = 0.05
"""How far into a minute, as a part of it: what was measured in the one before is there by then."""


class Minutes:
    """Calls each job just after every full minute, on the loop's thread. One that fails is logged and called again."""

    def __init__(self, loop: asyncio.AbstractEventLoop, minute_s: float, jobs: Sequence[Callable[[], None]]) -> None:
        self._loop = loop
        self._minute_s = minute_s
        self._jobs = jobs

    def install(self) -> None:
        past = time.time() % self._minute_s
        self._loop.call_later(self._minute_s * (1 + _AFTER) - past, self._pass)

    def _pass(self) -> None:
        for job in self._jobs:
            try:
                job()
            except Exception:
                logger.exception("a job of the local cloud failed")
        self.install()
