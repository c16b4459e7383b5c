"""Lines to raw records: `csv.reader` in strict mode, and what it does when a record is malformed or over a limit.

- A quote inside an unquoted field is text. Text after the closing quote of a field is a *malformed quote*: the record
  ends with its first line, is rejected, and reading goes on at the line after it. So a stray opening quote costs its
  own line, not every line up to the next quote in the file.
- A quote that nothing closes refuses the file, because where the following records begin is then a guess.
- A record over a limit is skipped to its end in bounded memory and rejected.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import NamedTuple

from functions.intake.dialect import Dialect
from functions.intake.lines import CONTROL, LineFeed, RecordOverLimit
from functions.intake.oversize import measure
from functions.intake.refusals import Reason, Refused
from functions.settings import Limits

# UTF-8 needs at most this many bytes a character: text that is short enough needs no counting.
_WIDEST = 4


class Fault(NamedTuple):
    """Why a record is rejected before its cells are looked at."""

    reason: Reason
    detail: str


RawRecord = tuple[int, int, tuple[str, ...], Fault | None]
"""Number (from 1), first physical line, the cells as read, and the fault if there is one. A plain tuple: there are
a million of them, and building a named one costs as much as reading the record."""


class Framer:
    """Cuts what is left in a feed into records. Nothing else may pull from that feed."""

    def __init__(self, feed: LineFeed, dialect: Dialect, limits: Limits) -> None:
        self._feed = feed
        self._dialect = dialect
        self._limits = limits
        self._uncounted = min(limits.max_field_bytes, limits.max_record_bytes) // _WIDEST

    def records(self) -> Iterator[RawRecord]:
        """Every record, blank ones too. Raises `Refused` for a quote that is never closed, and what the feed raises."""
        feed, number = self._feed, 0
        reader = self._dialect.reader(feed.pulled())
        while True:
            line = feed.begin()
            number += 1
            fault: Fault | None = None
            try:
                cells = tuple(next(reader))
            except StopIteration:
                return
            except csv.Error:
                cells, fault = self._malformed(number)
                reader = self._dialect.reader(feed.pulled())
            except RecordOverLimit:
                cells, fault = self._oversize(number, line)
                reader = self._dialect.reader(feed.pulled())
            else:
                if feed.size > self._uncounted:
                    fault = self._too_long(cells)
            if fault is None and feed.suspect:
                fault = self._control(line)
            yield number, line, cells, fault

    def _control(self, line: int) -> Fault | None:
        for offset, text in enumerate(self._feed.held):
            found = CONTROL.search(text)
            if found:
                name = f"U+{ord(found[0]):04X}" + (" (NUL)" if found[0] == "\0" else "")
                return Fault("control_character", f"Line {line + offset} holds the control character {name}.")
        return None

    def _malformed(self, number: int) -> tuple[tuple[str, ...], Fault]:
        feed = self._feed
        if feed.ended:
            raise _unclosed(number, feed.line, self._quote_line())
        feed.push_back(1)
        detail = "A closing quote is followed by other text; inside a quoted field, a quote is written twice."
        return self._dialect.lenient(feed.held[0]), Fault("malformed_quote", detail)

    def _quote_line(self) -> int:
        """Where the quote opened that nothing closed: found by measuring the held lines, which are within the limit."""
        return self._feed.line + measure(self._feed.held, self._dialect, keep=0).quote_line - 1

    def _oversize(self, number: int, line: int) -> tuple[tuple[str, ...], Fault]:
        found = measure(self._feed.pieces(), self._dialect, keep=self._limits.max_record_bytes)
        if not found.trusted:
            raise _unclosed(number, line, line + found.quote_line - 1)
        if found.field_bytes > self._limits.max_field_bytes:
            return found.cells, self._field_too_long(found.field, found.field_bytes)
        return found.cells, self._record_too_long()

    def _too_long(self, cells: tuple[str, ...]) -> Fault | None:
        for position, cell in enumerate(cells, 1):
            size = len(cell.encode())
            if size > self._limits.max_field_bytes:
                return self._field_too_long(position, size)
        if len("".join(self._feed.held).rstrip("\r\n").encode()) > self._limits.max_record_bytes:
            return self._record_too_long()
        return None

    def _field_too_long(self, field: int, size: int) -> Fault:
        detail = f"Field {field} has {size:,} bytes; the limit is {self._limits.max_field_bytes:,} bytes a field."
        return Fault("field_too_long", detail)

    def _record_too_long(self) -> Fault:
        detail = f"The record is longer than the limit of {self._limits.max_record_bytes:,} bytes a record."
        return Fault("record_too_long", detail)


def _unclosed(number: int, line: int, quote_line: int) -> Refused:
    where = f"Record {number} (line {line})" + (f", on line {quote_line}," if quote_line != line else "")
    return Refused(
        "unclosed_quote",
        f"{where} opens a quote that is not closed, so nothing after it can be trusted; "
        "close the quote, or write a quote inside a quoted field twice.",
    )
