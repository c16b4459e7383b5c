"""Bytes to text: byte-order mark, then strict UTF-8, then (by the caller's second pass) cp1252. Never latin-1.

The bytes are cut anew into blocks of one size, so that how they arrive cannot change what is read. Every byte that is
good is handed on before a bad one is reported, so that the report can name the line.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

from functions.intake.filetypes import refuse_binary
from functions.intake.refusals import Refused

BLOCK_BYTES = 128 * 1024
UTF_8 = "utf-8"
CP1252 = "cp1252"

_UTF_32 = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")
_MARKS = ((codecs.BOM_UTF8, UTF_8), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_SAMPLE_BYTES = 512


class Undecodable(Exception):  # noqa: N818 - turned into NotUtf8 or Refused where the line is known
    """The next byte is not text in `encoding`. `declared`: the file itself says, by its mark, that it should be."""

    def __init__(self, encoding: str, *, declared: bool) -> None:
        super().__init__(f"not {encoding}")
        self.encoding = encoding
        self.declared = declared


def read_text(chunks: Iterable[bytes], max_file_bytes: int, encoding: str | None) -> tuple[str, Iterator[str]]:
    """The encoding (`utf-8`, `utf-16-le`, `utf-16-be`, `cp1252`) and the text in blocks, without its byte-order mark.

    `encoding=None` finds it out: a mark, else UTF-8. Raises `Refused` for an empty file, one that is not CSV by its
    first bytes, UTF-32 and unmarked UTF-16. The iterator raises `Undecodable`, or `Refused` past `max_file_bytes`.
    """
    blocks = _blocks(chunks, max_file_bytes)
    first = next(blocks, b"")
    refuse_binary(first)
    declared = _declared(first)
    if encoding is None:
        encoding = declared or UTF_8
    return encoding, _decoded(first, blocks, encoding, declared=declared is not None)


def _blocks(chunks: Iterable[bytes], max_file_bytes: int) -> Iterator[bytes]:
    total = 0
    for block in _recut(chunks):
        total += len(block)
        if total > max_file_bytes:
            raise Refused("file_too_large", f"The file is larger than the limit of {max_file_bytes:,} bytes; split it.")
        yield block


def _recut(chunks: Iterable[bytes]) -> Iterator[bytes]:
    buffer = bytearray()
    for chunk in chunks:
        buffer += chunk
        while len(buffer) >= BLOCK_BYTES:
            yield bytes(buffer[:BLOCK_BYTES])
            del buffer[:BLOCK_BYTES]
    if buffer:
        yield bytes(buffer)


def _declared(first: bytes) -> str | None:
    """The encoding a byte-order mark declares; None without one. Raises `Refused` for those that are not supported."""
    if first.startswith(_UTF_32):
        raise _unsupported("UTF-32")
    for mark, encoding in _MARKS:
        if first.startswith(mark):
            return encoding
    unmarked = _unmarked_wide(first[:_SAMPLE_BYTES])
    if unmarked is not None:
        raise _unsupported(f"{unmarked} without a byte-order mark")
    return None


def _unmarked_wide(sample: bytes) -> str | None:
    """A header is mostly ASCII, so a wide encoding shows as NULs in every second byte, or in three of four."""
    even, odd = sample[::2], sample[1::2]
    if not odd:
        return None
    even_share, odd_share = even.count(0) / len(even), odd.count(0) / len(odd)
    if min(even_share, odd_share) > 0.4 and max(even_share, odd_share) > 0.8:
        return "UTF-32"
    if max(even_share, odd_share) > 0.4 and min(even_share, odd_share) < 0.1:
        return "UTF-16"
    return None


def _unsupported(what: str) -> Refused:
    return Refused("unsupported_encoding", f'The file is encoded as {what}; save it as "CSV UTF-8" and upload that.')


def _decoded(first: bytes, rest: Iterator[bytes], encoding: str, *, declared: bool) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    failed = Undecodable(encoding, declared=declared)
    at_start = True
    for block, final in _marking_last(first, rest):
        bad = False
        try:
            text = decoder.decode(block, final)
        except UnicodeDecodeError as error:
            # error.object includes what the decoder had kept of the block before, so nothing good is lost.
            text, bad = error.object[: error.start].decode(encoding), True
        if at_start and text:
            text, at_start = text.lstrip("\ufeff"), False
        if text:
            yield text
        if bad:
            raise failed


def _marking_last(first: bytes, rest: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    current = first
    for following in rest:
        yield current, False
        current = following
    yield current, True
