"""Files of made-up prospects, the same bytes for the same number of rows: every row is valid and somebody else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_ROWS_A_CHUNK = 10_000
HEADER = "name,email,company,title,notes\r\n"


def leads(rows: int) -> Iterator[str]:
    """The file's text, header first, in chunks of whole rows."""
    yield HEADER
    for first in range(1, rows + 1, _ROWS_A_CHUNK):
        numbers = range(first, min(first + _ROWS_A_CHUNK, rows + 1))
        yield "".join(
            f"Lead {n:06d},lead{n:06d}@example.com,Firm {n % 97:02d},Buyer,Row {n} of {rows}\r\n" for n in numbers
        )


def write_leads(path: Path, rows: int) -> int:
    """Write such a file; returns its size in bytes."""
    with path.open("w", encoding="utf-8", newline="") as target:
        target.writelines(leads(rows))
    return path.stat().st_size
