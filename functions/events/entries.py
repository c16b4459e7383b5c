"""What one PutEvents request may hold, and how entries are packed into as few requests as that allows. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

MAX_ENTRIES = 100
MAX_REQUEST_BYTES = 1_048_576
"""The service's limit on a whole request, as sent; above it nothing of the request is published."""
USABLE_BYTES = MAX_REQUEST_BYTES - 16_384
"""What we fill: the service does not say how it counts, so 1.6 % stay free."""
ENTRY_OVERHEAD_BYTES = 128
"""Upper bound of what CBOR adds to an entry's texts: the names of its five members, its source and the length marks."""
REQUEST_OVERHEAD_BYTES = 64


class EntryTooLarge(ValueError):  # noqa: N818
    """One entry alone exceeds what a request may hold; it can never be published."""

    def __init__(self, dedup_id: str, size: int, limit: int) -> None:
        super().__init__(f"the event {dedup_id} has {size} bytes; the event bus takes at most {limit}")
        self.dedup_id = dedup_id
        self.size = size


@dataclass(frozen=True, slots=True)
class Entry:
    """One event to publish. `detail` must be JSON; `text` is its one spelling; `size` bounds its bytes on the wire."""

    dedup_id: str
    detail_type: str
    detail: Mapping[str, Any]
    text: str = field(init=False, repr=False)
    size: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        text = json.dumps(self.detail, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        texts = (text, self.dedup_id, self.detail_type)
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "size", ENTRY_OVERHEAD_BYTES + sum(len(part.encode()) for part in texts))


class Packer:
    """Fills requests one entry at a time, so that a stream of entries needs no more requests than its bytes demand."""

    def __init__(self, bus_arn: str) -> None:
        self._room = USABLE_BYTES - REQUEST_OVERHEAD_BYTES - len(bus_arn.encode())
        self._entries: list[Entry] = []
        self._size = 0

    def __len__(self) -> int:
        """How many entries wait for their request."""
        return len(self._entries)

    def add(self, entry: Entry) -> tuple[Entry, ...]:
        """Take an entry; return the request that is full now, or nothing. Raises EntryTooLarge."""
        if entry.size > self._room:
            raise EntryTooLarge(entry.dedup_id, entry.size, self._room)
        full = self.take() if self._size + entry.size > self._room else ()
        self._entries.append(entry)
        self._size += entry.size
        return self.take() if len(self._entries) == MAX_ENTRIES else full

    def take(self) -> tuple[Entry, ...]:
        """The request under way, full or not; the packer is empty afterwards."""
        entries, self._entries, self._size = tuple(self._entries), [], 0
        return entries


def packed(entries: Iterable[Entry], bus_arn: str) -> Iterator[tuple[Entry, ...]]:
    """The entries in order, in requests of at most 100 entries and 1 MB. Raises EntryTooLarge."""
    packer = Packer(bus_arn)
    for entry in entries:
        if full := packer.add(entry):
            yield full
    if len(packer):
        yield packer.take()
