"""Calls of AWS beside each other, taken back in the order they were asked for: a bounded number waits at any time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from types import TracebackType
from typing import Self, TypeVar

THREADS = 8
"""Calls under way at once; boto3's clients keep ten connections each, and may be shared by threads."""
_MS = 1000
A = TypeVar("A")
B = TypeVar("B")


class Timings:
    """Time spent on the named parts of a pass, added up over all its threads. `timer` gives seconds."""

    def __init__(self, timer: Callable[[], float] = time.perf_counter) -> None:
        self._timer = timer
        self._lock = Lock()
        self._spent: dict[str, float] = {}

    @contextmanager
    def of(self, part: str) -> Iterator[None]:
        """Add what runs inside to a part, however it ends."""
        begun = self._timer()
        try:
            yield
        finally:
            spent = self._timer() - begun
            with self._lock:
                self._spent[part] = self._spent.get(part, 0.0) + spent

    def each(self, part: str, items: Iterable[A]) -> Iterator[A]:
        """The same items; what it takes to make them is added to a part, what is done with them is not."""
        iterator = iter(items)
        while True:
            with self.of(part):
                item = next(iterator, None)
            if item is None:
                return
            yield item

    def milliseconds(self) -> dict[str, int]:
        """`<part>_ms`, for a log line."""
        with self._lock:
            return {f"{part}_ms": round(seconds * _MS) for part, seconds in self._spent.items()}


class Pipeline:
    """A few threads for one pass.

    On leaving, what has not begun is dropped and what runs is waited for: no call is under way when the sandbox is
    frozen.
    """

    def __init__(self, threads: int = THREADS) -> None:
        self._most = threads
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="pipeline")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def each(self, work: Callable[[A], B], items: Iterable[A]) -> Iterator[tuple[A, B]]:
        """Each item with what `work` made of it, in the order of the items; what it raised is raised in its place.

        At most as many items as there are threads were taken and not given back yet: memory does not grow with them.
        """
        waiting: deque[tuple[A, Future[B]]] = deque()
        for item in items:
            waiting.append((item, self.submit(work, item)))
            if len(waiting) >= self._most:
                first, result = waiting.popleft()
                yield first, result.result()
        while waiting:
            first, result = waiting.popleft()
            yield first, result.result()

    def submit(self, work: Callable[[A], B], item: A) -> Future[B]:
        return self._pool.submit(work, item)
