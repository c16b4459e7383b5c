"""The results as a CSV that people open in a spreadsheet: our columns beside theirs, and no cell that would be run.

Format: UTF-8 with a byte-order mark (Excel takes a CSV without one for the local code page), comma, CR LF, quotes
where RFC 4180 needs them, rows in the order given. Every cell of a file that came from outside is hostile.

A cell is *hostile* when, after any white space, zero-width or control characters, it begins with `= + - @` or with a
full-width or small form of one (U+FF1D, U+FE66 …; spreadsheets in East Asian locales take them for the ASCII sign), or
when it begins with a TAB, CR or LF, spaces before it or not. It is written with an apostrophe in front, which makes a
spreadsheet take the rest as text (OWASP, "CSV Injection"). A value of digits, spaces and a leading `+` is a telephone
number and is left alone. A control character that a CSV cannot carry into a spreadsheet is written as U+FFFD.

Not covered: a program told to split the file at another character than the comma sees other cells than were written.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

CHUNK_CHARACTERS = 64 * 1024
BOM = "\ufeff"

# What a spreadsheet may skip before it looks for a formula: white space, controls, zero-width and direction marks.
_SKIPPED = r"[\s\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]*"
_SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"
_HOSTILE = re.compile(rf" *[\t\r\n]|{_SKIPPED}[{_SIGNS}]")
_TELEPHONE = re.compile(r" *\+?[0-9 ]*[0-9][0-9 ]*")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class ResultRow(NamedTuple):
    """One data record with its outcome; `cells` are the record's own, as they were read."""

    cells: Sequence[str]
    label: str = ""
    reason: str = ""
    model: str = ""
    prompt_version: str = ""
    request_id: str = ""


RESULT_COLUMNS = ResultRow._fields[1:]


def result_header(header: Sequence[str]) -> tuple[str, ...]:
    """The file's columns and ours. Where the file has one of that name (in any case) ours is numbered: `label 2`."""
    taken = {name.strip().casefold() for name in header}
    return (*header, *(_free_name(name, taken) for name in RESULT_COLUMNS))


def results_csv(header: Sequence[str], rows: Iterable[ResultRow]) -> Iterator[bytes]:
    """The file in chunks of roughly 64 KiB, streaming: no more than one chunk and one row are in memory.

    A record with fewer cells than the header is filled up; cells past the header (empty ones, or those of a record
    rejected for them) are left out, so that every row has the same columns.
    """
    width = len(header)
    buffer = io.StringIO(newline="")
    buffer.write(BOM)
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow(map(neutral, result_header(header)))
    for row in rows:
        cells = [*row.cells[:width], *[""] * (width - len(row.cells)), *row[1:]]
        writer.writerow(map(neutral, cells))
        if buffer.tell() >= CHUNK_CHARACTERS:
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
    if buffer.tell():
        yield buffer.getvalue().encode()


def neutral(cell: str) -> str:
    """The cell as a spreadsheet may open it: hostile ones with an apostrophe in front, all others as they are."""
    if not cell:
        return cell
    text = _CONTROL.sub("\ufffd", cell)
    return f"'{text}" if _HOSTILE.match(cell) and not _TELEPHONE.fullmatch(cell) else text


def _free_name(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} {number}"
    return free
