"""Text to physical lines, of bounded length, and the feed that hands them to a CSV reader record by record."""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator

from functions.intake.decode import UTF_8, Undecodable
from functions.intake.refusals import NotUtf8, Refused

# Room for the end of a line beside the record it ends.
LINE_END = 2

# C0 without TAB, LF and CR (which are data inside quotes), and DEL.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class RecordOverLimit(Exception):  # noqa: N818 - a signal through csv.reader, caught by whoever began the record
    """The record being read is longer than a record may be; its text so far is in the feed's `held`."""


def physical_lines(blocks: Iterable[str], longest: int) -> Iterator[str]:
    """Lines with their ends: LF, CR LF or a lone CR, and nothing else (not what `str.splitlines` adds).

    A line of more than `longest` characters comes in pieces: each but the last has no end and is longer than that, so
    no more than `longest` characters and a block are in memory. Raises `NotUtf8` or `Refused` with the line's number.
    """
    done = 0
    unfinished: list[str] = []
    size = 0
    try:
        for block in _without_split_ends(blocks):
            lines = io.StringIO(block, newline="").readlines()
            tail = "" if is_ended(lines[-1]) else lines.pop()
            if lines:
                lines[0] = "".join((*unfinished, lines[0]))
                unfinished, size = [], 0
                yield from lines
                done += len(lines)
            if tail:
                unfinished.append(tail)
                size += len(tail)
            if size > longest:
                yield "".join(unfinished)
                unfinished, size = [], 0
    except Undecodable as fault:
        raise _undecodable(fault, done + 1) from None
    if unfinished:
        yield "".join(unfinished)


def is_ended(line: str) -> bool:
    return line.endswith(("\n", "\r"))


def _without_split_ends(blocks: Iterable[str]) -> Iterator[str]:
    """The same text, with no block ending in a CR whose LF would come with the next one."""
    kept = ""
    for block in blocks:
        text = kept + block
        kept = "\r" if text.endswith("\r") else ""
        if kept:
            text = text[:-1]
        if text:
            yield text
    if kept:
        yield kept


def _undecodable(fault: Undecodable, line: int) -> Exception:
    if fault.encoding == UTF_8 and not fault.declared:
        return NotUtf8(line)
    if fault.encoding == "cp1252":
        what = "is neither UTF-8 nor Windows-1252"
    else:
        what = f"is not {fault.encoding.upper()}, which the file's byte-order mark says it is"
    return Refused("undecodable", f'Line {line} holds a byte that {what}; save the file as "CSV UTF-8" again.')


class LineFeed(Iterator[str]):
    """The lines of a text as `csv.reader` pulls them, with what the current record has taken so far.

    `held` are the current record's lines, `size` their characters, `line` the number of its first line (from 1);
    `ended` says that the record asked for more lines than the file has, `suspect` that a control character came by.
    Every line pulled is held, so a record that proves malformed can be read again from its second line.
    """

    __slots__ = ("_lines", "_most", "_pushed", "ended", "held", "line", "size", "suspect")

    def __init__(self, blocks: Iterable[str], longest: int) -> None:
        self._lines = physical_lines(self._watched(blocks), longest + LINE_END)
        self._pushed: deque[str] = deque()
        self._most = longest + LINE_END
        # The csv module's own limit is one for the process and counts characters; this feed's must be met first.
        csv.field_size_limit(max(csv.field_size_limit(), self._most))
        self.held: list[str] = []
        self.size = 0
        self.line = 1
        self.ended = False
        self.suspect = False

    def begin(self) -> int:
        """A record begins with the next line, whose number is returned."""
        self.line += len(self.held)
        self.held.clear()
        self.size = 0
        self.ended = False
        return self.line

    def __next__(self) -> str:
        if self._pushed:
            line = self._pushed.popleft()
        else:
            try:
                line = next(self._lines)
            except StopIteration:
                self.ended = True
                raise
        self.held.append(line)
        self.size += len(line)
        # csv.reader collects a whole record in memory: this is the line that bounds it, whatever the file holds.
        if self.size > self._most:
            raise RecordOverLimit
        return line

    def pulled(self) -> Iterator[str]:
        """The same lines, cheaper, for one csv.reader: a million times a call of `__next__` is felt.

        After RecordOverLimit, and after the end, this iterator is spent; what is pushed back needs another one.
        """
        held, pushed, lines, most = self.held, self._pushed, self._lines, self._most
        while True:
            line = pushed.popleft() if pushed else next(lines, None)
            if line is None:
                self.ended = True
                return
            held.append(line)
            self.size += len(line)
            if self.size > most:
                raise RecordOverLimit
            yield line

    def push_back(self, first: int) -> None:
        """The held lines from index `first` on will be read again; the record keeps those before."""
        self._pushed.extendleft(reversed(self.held[first:]))
        del self.held[first:]
        self.ended = False
        self.size = sum(map(len, self.held))

    def pieces(self) -> Iterator[str]:
        """The held text, then what follows: for a record over the limit. Counts the lines, holds nothing."""
        # Not a loop over the lines: a consumer that stops early would close them for everybody.
        self.push_back(0)
        while piece := self._pushed.popleft() if self._pushed else next(self._lines, ""):
            self.line += is_ended(piece)
            yield piece

    def _watched(self, blocks: Iterable[str]) -> Iterator[str]:
        """Searching whole blocks spares the files without control characters, nearly all, a search of every record."""
        for block in blocks:
            self.suspect = self.suspect or CONTROL.search(block) is not None
            yield block
