"""Finishing an upload whose rows have all ended: results, then `done` and the outbox in one transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions.clock import Clock
from functions.finish.rows import RowResult, RowsDisagreeError, read_rows
from functions.finish.spreadsheet import ResultRow, results_csv
from functions.finish.storage import put_results, results_key, source_of
from functions.finish.summary import announcement
from functions.finish.tally import Tally
from functions.uploads.model import Announcement, Finished, Upload
from functions.uploads.table import UploadsTable

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

DAY_S = 86_400


class Completion:
    """Writes results and sets uploads to done. `retention_days` is kept by finished uploads without unknown rows."""

    def __init__(self, table: UploadsTable, s3: S3Client, retention_days: int, clock: Clock) -> None:
        self._table = table
        self._s3 = s3
        self._retention_s = retention_days * DAY_S
        self._clock = clock

    def complete(self, upload: Upload) -> Announcement | None:
        """Finish an upload of which every valid row was counted. None: another tick has finished it, or it was paused.

        Raises RowsDisagreeError, and writes nothing of `done`, where the rows read are not the rows that were counted.
        """
        tally, key = Tally(upload), results_key(upload)
        rows = tally.of(read_rows(upload, source_of(self._s3), self._table))
        metadata = {"upload-id": upload.upload_id, "revision": str(upload.revision + 1)}
        # Before `done`: whoever sees the state finds the results. Killed in between, the next tick writes them again.
        put_results(self._s3, upload.bucket, key, results_csv(upload.header, map(result_row, rows)), metadata)
        if tally.terminal != upload.counts.valid:
            raise RowsDisagreeError(upload.upload_id, 0, f"{tally.terminal} rows have ended of {upload.counts.valid}")
        told = announcement(upload, tally, f"s3://{upload.bucket}/{key}")
        won = self._table.finish(upload, self._finished(tally, key), told)
        return told if won else None

    def _finished(self, tally: Tally, key: str) -> Finished:
        now, rows = int(self._clock()), tally.row_counts()
        expires_at = None if rows.unknown else now + self._retention_s
        return Finished(rows=rows, results_key=key, finished_at=now, expires_at=expires_at)


def result_row(result: RowResult) -> ResultRow:
    """The row of the results CSV for a record that has ended."""
    reason = f"{result.reason}: {result.detail}" if result.detail else result.reason
    item = result.item
    if item is None:
        return ResultRow(result.record.cells, result.label, reason)
    return ResultRow(result.record.cells, result.label, reason, item.model, item.prompt_version, item.request_id)
