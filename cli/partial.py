"""Results before the end: what has ended so far, in the same columns, every other valid row marked open."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from functions.finish.complete import result_row
from functions.finish.rows import RowResult, read_rows
from functions.finish.spreadsheet import ResultRow, results_csv
from functions.finish.storage import source_of
from functions.finish.tally import Tally
from functions.uploads.model import Upload
from functions.uploads.table import UploadsTable

OPEN = "open"


class SoFar:
    """The stream of an open upload's results; `tally` is complete once it was read to its end."""

    def __init__(self, s3: Any, table: UploadsTable, upload: Upload) -> None:
        self.tally = Tally(upload)
        self._s3 = s3
        self._table = table
        self._upload = upload

    def chunks(self) -> Iterator[bytes]:
        """The CSV, in the format of the final results; memory does not grow with the rows."""
        rows = self.tally.of(read_rows(self._upload, source_of(self._s3), self._table))
        return results_csv(self._upload.header, map(_row, rows))


def _row(result: RowResult) -> ResultRow:
    return ResultRow(result.record.cells, reason=OPEN) if result.outcome == "open" else result_row(result)
