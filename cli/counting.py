"""How many valid rows of an open upload have ended: counted where that is cheap, else what the last tick saw."""

from __future__ import annotations

from functions.uploads.model import Upload
from functions.uploads.table import UploadsTable

COUNTED_UP_TO = 20_000
"""Counting reads every item of every row, so that of a larger upload costs more than a look is worth."""


def ended_rows(table: UploadsTable, upload: Upload) -> tuple[int, bool]:
    """The number, and whether it is exact."""
    if upload.state == "done":
        return upload.counts.valid, True
    if upload.counts.valid <= COUNTED_UP_TO:
        return table.count_rows(upload.upload_id), True
    seen = (each.terminal for each in table.open_uploads() if each.upload_id == upload.upload_id)
    return next(seen, 0), False
