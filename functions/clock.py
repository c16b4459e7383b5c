"""Time as a parameter: rules and stores take a `Clock`, so that tests can move it."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], float]
"""Seconds since the epoch. A wall clock on purpose: a frozen sandbox's monotonic clock stands still."""

wall_clock: Clock = time.time
