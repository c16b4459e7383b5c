"""Reading a CSV in a test: bytes in, everything that came of it out, comparable as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from functions.intake.records import CsvFile, Record, open_csv
from functions.intake.refusals import NotUtf8, Refused
from functions.settings import Limits

LIMITS = Limits()
HEADER = "name,email,company,title,notes\r\n"


@dataclass(frozen=True)
class Reading:
    """An accepted file, or (with a `code`) a refused one."""

    code: str = ""
    sentence: str = ""
    encoding: str = ""
    delimiter: str = ""
    header: tuple[str, ...] = ()
    columns: tuple[str | None, ...] = ()
    records: tuple[Record, ...] = ()

    def outcomes(self) -> list[str]:
        return [record.reason or record.outcome for record in self.records]

    def lines(self) -> list[int]:
        return [record.line for record in self.records]


def read_chunks(chunks: Iterable[bytes], limits: Limits = LIMITS, **kept: str) -> Reading:
    """As admission does: a file that is not UTF-8 is read again as cp1252."""
    parts = list(chunks)
    try:
        return _accepted(open_csv(parts, limits, **kept))
    except NotUtf8:
        return read_chunks(parts, limits, **{**kept, "encoding": "cp1252"})
    except Refused as refused:
        return Reading(code=refused.code, sentence=refused.sentence)


def read(data: bytes | str, limits: Limits = LIMITS, **kept: str) -> Reading:
    return read_chunks([data.encode() if isinstance(data, str) else data], limits, **kept)


def read_rows(*rows: str, limits: Limits = LIMITS) -> Reading:
    """Data rows under the usual five-column header, CR LF after each."""
    return read(HEADER + "".join(row + "\r\n" for row in rows), limits)


def person(number: int, notes: str = "Wants a quote") -> str:
    return f"Lead {number},lead{number}@example.com,Firm {number},Buyer,{notes}"


def _accepted(file: CsvFile) -> Reading:
    records = tuple(file.records())
    return Reading("", "", file.encoding, file.delimiter, file.header, file.columns, records)
