"""Finding the header: the `sep=` hint, the delimiter and the columns, or the one sentence that says what is wrong."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from functions.intake.dialect import DELIMITERS, Dialect
from functions.intake.filetypes import text_kind
from functions.intake.header import EMAIL, FIRST_NAME, LAST_NAME, NAME, Header, resolve, spellings
from functions.intake.lines import CONTROL, LineFeed, RecordOverLimit, is_ended
from functions.intake.refusals import SAVE_AS_CSV, Refused
from functions.intake.text import EDGES

# Excel's own hint, alone on the first line; a program that wrote it through its quoting or padding is understood too.
_SEPARATOR_HINT = re.compile(r'"?sep=(.)"?\1*[\r\n]*', re.IGNORECASE)
_LINES_TO_NAME_A_KIND = 3
_MOST_EMPTY_LINES = 1000
MOST_COLUMNS = 2_000
"""Every record of the results is as wide as the header: without a limit a small file makes results without end."""
_MOST_PLACES = 10
_EMPTY_LINE = EDGES + "".join(DELIMITERS)


class _Reading(NamedTuple):
    """The header as one delimiter reads it; `header` is None where it cannot be read, and `fault` says why."""

    dialect: Dialect
    header: Header | None
    fault: str = ""

    @property
    def merit(self) -> tuple[int, int, int]:
        """Fewer required columns missing, then more known columns, then more columns: the better delimiter."""
        if self.header is None:
            return (-len((EMAIL, NAME)), 0, 0)
        known = sum(column is not None for column in self.header.columns)
        return (-len(self.header.missing), known, len(self.header.written))


def find_header(feed: LineFeed, delimiter: str | None) -> tuple[Dialect, Header]:
    """Consume the lines up to and with the header, so that the feed stands at record 1.

    `delimiter` (from an earlier pass) overrides the hint and the search. Raises `Refused` and what the feed raises.
    """
    wanted = _hint(feed)
    wanted = delimiter or wanted
    _skip_empty_lines(feed)
    readings = [_read(feed, Dialect(candidate)) for candidate in ((wanted,) if wanted else DELIMITERS)]
    best = max(readings, key=lambda reading: reading.merit)
    if best.header is None or best.header.missing:
        raise _refusal(readings, best, _peek(feed, _LINES_TO_NAME_A_KIND))
    feed.begin()
    next(best.dialect.reader(feed))
    _check(best.header, feed)
    return best.dialect, best.header


def _hint(feed: LineFeed) -> str | None:
    """The delimiter a `sep=` line names; that line is consumed, any other first line is left."""
    found = _SEPARATOR_HINT.fullmatch(_peek(feed))
    if not found:
        return None
    next(feed)
    if found[1].isalnum() or found[1] in '"\r ' or CONTROL.match(found[1]):
        raise Refused(
            "unsupported_delimiter",
            "The first line (sep=) names a delimiter that cannot separate fields; use a comma, semicolon or tab.",
        )
    return found[1]


def _skip_empty_lines(feed: LineFeed) -> None:
    """Lines before the header that hold nothing but spaces and delimiters, as a sheet that starts lower exports."""
    for _ in range(_MOST_EMPTY_LINES):
        line = _peek(feed)
        if not line:
            break
        # The file's last line and a line over the limit are left, so that every file ends in one sentence.
        if line.strip(_EMPTY_LINE) or not is_ended(line):
            return
        next(feed)
    raise Refused("empty_file", "The file begins with nothing but empty lines: no header and no data rows were found.")


def _peek(feed: LineFeed, lines: int = 1) -> str:
    """The next lines, left to be read again; of a line over the limit, its start; empty at the end of the file."""
    feed.begin()
    with suppress(StopIteration, RecordOverLimit):
        for _ in range(lines):
            next(feed)
    line = "".join(feed.held)
    feed.push_back(0)
    return line


def _read(feed: LineFeed, dialect: Dialect) -> _Reading:
    feed.begin()
    try:
        cells = next(dialect.reader(feed))
    except csv.Error:
        return _Reading(dialect, None, "a quote in it is not closed, or is closed and followed by other text")
    except RecordOverLimit:
        return _Reading(dialect, None, "it is longer than a record may be")
    finally:
        feed.push_back(0)
    if not dialect.skip_spaces and len(cells) > 1 and all(cell.startswith(" ") for cell in cells[1:]):
        # `name, "email"`: a space after every delimiter is the writer's style, or a quote after it would be text.
        return _read(feed, Dialect(dialect.delimiter, skip_spaces=True))
    return _Reading(dialect, resolve(cells))


def _check(header: Header, feed: LineFeed) -> None:
    """The header just read, with its text in the feed: refuse what would make columns ambiguous or unreadable."""
    control = CONTROL.search("".join(feed.held))
    if control:
        code = f"U+{ord(control[0]):04X}"
        raise Refused(
            "malformed_header", f"The header (line {feed.line}) holds the control character {code}; remove it."
        )
    if len(header.written) > MOST_COLUMNS:
        raise Refused(
            "too_many_columns",
            f"The header has {len(header.written):,} columns, the limit is {MOST_COLUMNS:,}; remove those that are "
            "not needed.",
        )
    for numbers, canonical in header.duplicates:
        places = _places(numbers)
        if canonical is not None:
            sentence = f"The header has the column {canonical} more than once (columns {places}); keep one of them."
        else:
            sentence = f"Columns {places} have the same header; rename or remove all but one."
        raise Refused("duplicate_header", sentence)


def _places(numbers: Sequence[int]) -> str:
    if len(numbers) > _MOST_PLACES:
        return ", ".join(map(str, numbers[:_MOST_PLACES])) + f" and {len(numbers) - _MOST_PLACES:,} more"
    return ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}"


def _refusal(readings: Sequence[_Reading], best: _Reading, start: str) -> Refused:
    kind = text_kind(start)
    if kind is not None:
        return Refused("not_csv", f"This is {kind}, not a CSV file; {SAVE_AS_CSV}, then upload that file.")
    fault = next((reading.fault for reading in readings if reading.fault), "")
    if fault or best.header is None:
        return Refused("malformed_header", f"The header cannot be read: {fault}.")
    lacking = " and ".join(_LACKING[canonical] for canonical in best.header.missing)
    return Refused(
        "missing_columns", f"The header has {lacking}; {_what_was_read(readings, best.header, best.dialect)}."
    )


_BOTH_NAMES = f"{spellings(FIRST_NAME, 1)} with {spellings(LAST_NAME, 1)}"
_LACKING = {
    EMAIL: f"no e-mail column (accepted: {spellings(EMAIL)} …)",
    NAME: f"no name column (accepted: {spellings(NAME)} …, or {_BOTH_NAMES})",
}


def _what_was_read(readings: Sequence[_Reading], header: Header, dialect: Dialect) -> str:
    width = len(header.written)
    if width < 2 and len(readings) > 1:
        *others, last = DELIMITERS.values()
        return f"only one column was read, with {', '.join(others)} and {last} tried as the delimiter"
    recognised = ", ".join(filter(None, header.columns)) or "none of them"
    return f"columns read: {width}, separated by {dialect.name}; recognised: {recognised}"
