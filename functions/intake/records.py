"""The CSV contract as one call: bytes in, numbered records out, each valid, rejected, duplicate or blank.

One pass, in bounded memory: what is kept of a record is a digest of its address. Reading the same bytes again with the
encoding and delimiter found the first time gives the same records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from functions.intake.decode import CP1252, read_text
from functions.intake.detection import find_header
from functions.intake.framing import Framer
from functions.intake.header import Header
from functions.intake.lines import LineFeed
from functions.intake.refusals import Refused
from functions.intake.validation import Record, Validator
from functions.settings import Limits

__all__ = ["CsvFile", "Record", "open_csv"]


class CsvFile:
    """A file whose header was read and found good. `records()` may be called once: it consumes the chunks.

    `encoding`: utf-8, utf-16-le, utf-16-be or cp1252; `encoding_guessed`: it is cp1252, which any bytes could be.
    `header` as written, trimmed; `columns` the canonical name of each, or None. Both end at the last column that has a
    header: a record's cells past that are empty, or the record is rejected.
    """

    def __init__(self, framer: Framer, header: Header, limits: Limits, *, encoding: str, delimiter: str) -> None:
        self._framer = framer
        self._resolved = header
        self._limits = limits
        self.encoding = encoding
        self.encoding_guessed = encoding == CP1252
        self.delimiter = delimiter
        self.header = header.written
        self.columns = header.columns

    def records(self) -> Iterator[Record]:
        """Every data record in order. Raises `NotUtf8`, and `Refused` where nothing after that place can be used: what
        was yielded before is then worth nothing either."""
        judge = Validator(self._resolved).judge
        most = self._limits.max_records
        last = blank = 0
        for raw in self._framer.records():
            record = judge(raw)
            last = raw[0]
            if last > most:
                raise Refused("too_many_records", f"The file has more than {most:,} records, the limit; split it.")
            if record.outcome == "blank":
                blank += 1
            yield record
        if blank == last:
            raise Refused("no_data_rows", _no_data_rows(blank))


def open_csv(
    chunks: Iterable[bytes], limits: Limits, *, encoding: str | None = None, delimiter: str | None = None
) -> CsvFile:
    """Read a file's header and stand at its first record. How the bytes are cut into chunks does not matter.

    `encoding` and `delimiter` are given on a later pass, from what the first one found. With `encoding=None`, a file
    without a byte-order mark is read as UTF-8; `NotUtf8`, from here or from iteration, means: open it again with
    `encoding="cp1252"`. Raises `Refused` with a code and one sentence.
    """
    found, blocks = read_text(chunks, limits.max_file_bytes, encoding)
    feed = LineFeed(blocks, limits.max_record_bytes)
    dialect, header = find_header(feed, delimiter)
    return CsvFile(Framer(feed, dialect, limits), header, limits, encoding=found, delimiter=dialect.delimiter)


def _no_data_rows(blank: int) -> str:
    skipped = f" ({blank} blank {'one was' if blank == 1 else 'ones were'} skipped)" if blank else ""
    return f"The file has a header but no data rows{skipped}."
