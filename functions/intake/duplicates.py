"""Which record first had an address, in 12 bytes a slot instead of a dict of a million strings.

Open addressing over two arrays: a 64-bit digest of the address and the number of the record that had it. Digests, not
addresses, so two different addresses may be taken for one: among 1,000,000 of them with probability below 3 in
100 million (n² / 2⁶⁵). The digest is the same in every process, so a later pass finds the same duplicates.
"""

from __future__ import annotations

from array import array
from hashlib import blake2b
from struct import Struct

_FIRST_SLOTS = 1 << 10
# 12 MB: up to here, moving everything seldom is worth the empty slots.
_LARGE_SLOTS = 1 << 20
# Copying one that is made costs less than making one.
_EMPTY = blake2b(digest_size=8)
_NUMBER = Struct("<Q").unpack


class FirstSeen:
    """At most 2³² - 1 records.

    Memory: 12 bytes a slot, 1.7 to 3.4 slots an address (6.7 in a small file); half more while growing.
    """

    def __init__(self) -> None:
        self._count = 0
        self._allocate(_FIRST_SLOTS)

    def of(self, key: str, number: int) -> int:
        """The number (from 1) of the record that first had `key`: `number` itself when none had it before."""
        hashing = _EMPTY.copy()
        hashing.update(key.encode())
        digest: int = _NUMBER(hashing.digest())[0]
        # An empty slot is one with number 0, so that any digest may occur.
        mask, digests, numbers = self._mask, self._digests, self._numbers
        slot = digest & mask
        while earlier := numbers[slot]:
            if digests[slot] == digest:
                return earlier
            slot = (slot + 1) & mask
        digests[slot], numbers[slot] = digest, number
        self._count += 1
        if self._count > self._room:
            self._grow()
        return number

    def _allocate(self, slots: int) -> None:
        self._mask = slots - 1
        # Six tenths full at most: beyond that, linear probing walks far.
        self._room = slots * 6 // 10
        self._digests = array("Q", bytes(8)) * slots
        self._numbers = array("I", bytes(4)) * slots

    def _grow(self) -> None:
        old_digests, old_numbers = self._digests, self._numbers
        self._allocate(len(old_digests) * (2 if len(old_digests) >= _LARGE_SLOTS else 4))
        mask, digests, numbers = self._mask, self._digests, self._numbers
        for digest, number in zip(old_digests, old_numbers, strict=True):
            if number:
                slot = digest & mask
                while numbers[slot]:
                    slot = (slot + 1) & mask
                digests[slot], numbers[slot] = digest, number
