"""A bounded number of handlers at a time, first come first served."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Lets `width` callers in; the others wait in the order they came, so no kind of work starves another."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._free = width
        self._waiting: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        self._enter()
        try:
            yield
        finally:
            self._leave()

    def _enter(self) -> None:
        with self._lock:
            if self._free and not self._waiting:
                self._free -= 1
                return
            mine = threading.Event()
            self._waiting.append(mine)
        mine.wait()

    def _leave(self) -> None:
        with self._lock:
            if self._waiting:
                # The place passes straight to the one who waited longest; nobody can slip in between.
                self._waiting.popleft().set()
            else:
                self._free += 1
