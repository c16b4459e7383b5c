"""The deduplication window: a repeated DeduplicationId within 300 s of the entry it repeats is not stored again.

Its scope is the publishing account, the bus and the event group; entries without a group share one scope.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

WINDOW_S = 300.0

Scope = tuple[str, str, str]


class DeduplicationWindow:
    """Remembers which ids were stored, by scope. `clock` gives seconds; a repeat does not lengthen the window."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._stored: OrderedDict[tuple[Scope, str], tuple[float, str, str]] = OrderedDict()

    def repeats(self, scope: Scope, deduplication_id: str) -> tuple[str, str] | None:
        """Event id and sequence number of the stored entry that this one repeats, or None."""
        self._forget()
        found = self._stored.get((scope, deduplication_id))
        return found[1:] if found else None

    def stored(self, scope: Scope, deduplication_id: str, event_id: str, sequence_number: str) -> None:
        self._stored[scope, deduplication_id] = (self._clock(), event_id, sequence_number)

    def __len__(self) -> int:
        return len(self._stored)

    def _forget(self) -> None:
        oldest_kept = self._clock() - WINDOW_S
        while self._stored:
            key, (stored_at, _, _) = next(iter(self._stored.items()))
            if stored_at > oldest_kept:
                return
            del self._stored[key]
