"""What an auditor reads in our tables and results: which uploads there are, how their rows stand, what is stored."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from functions.classify.task import Task
from functions.effects.record import EffectRecord
from functions.effects.states import State
from functions.effects.table import EffectTable
from functions.uploads.keys import META, record_id
from functions.uploads.model import RowItem, Upload
from functions.uploads.terminal import RowIdentity, terminal_row
from local.running import RunningCloud


class Audit:
    """As of the last `look`."""

    def __init__(self, cloud: RunningCloud) -> None:
        self._cloud = cloud
        self.uploads: Sequence[Upload] = ()
        self.rows: Sequence[RowItem] = ()

    def look(self) -> None:
        """Read every upload and every row that has ended."""
        client = self._cloud.resource("dynamodb").meta.client
        pages = client.get_paginator("scan").paginate(
            TableName=self._cloud.outputs["ProspectsTableName"], ConsistentRead=True
        )
        items: list[dict[str, Any]] = [item for page in pages for item in page["Items"]]
        self.uploads = [Upload.from_item(item) for item in items if item["sk"] == META]
        self.rows = [RowItem.from_item(item) for item in items if "row_number" in item and "outcome" in item]

    def waiting(self) -> int:
        """Valid rows of paused uploads that have not ended: an operator lets them go on."""
        return sum(
            upload.counts.valid - len(self._ended(upload)) for upload in self.uploads if upload.state == "paused"
        )

    def lost(self, rows: int) -> int:
        """Of `rows` in each file those without an item, or without a line in the results; a pause holds its rows."""
        return sum(rows - self._kept(upload) for upload in self.uploads)

    def stored_outcomes(self) -> int:
        """Rows whose final answer or failure is what their key's record, which is DONE, says."""
        return sum(self._says(row, record) for row, record in self._final().items())

    def _kept(self, upload: Upload) -> int:
        if upload.state == "paused":
            return upload.counts.valid
        return min(len(self._ended(upload)), self._in_results(upload))

    def _ended(self, upload: Upload) -> set[int]:
        return {row.row_number for row in self.rows if row.upload_id == upload.upload_id}

    def _in_results(self, upload: Upload) -> int:
        stored = self._cloud.client("s3").get_object(Bucket=upload.bucket, Key=upload.results_key)
        return sum(1 for _ in csv.DictReader(StringIO(stored["Body"].read().decode("utf-8-sig"))))

    def _final(self) -> Mapping[RowItem, EffectRecord | None]:
        tasks = {upload.upload_id: Task.from_json(upload.task).name for upload in self.uploads}
        final = {row: record_id(tasks[row.upload_id], row.key) for row in self.rows if row.outcome != "unknown"}
        table = self._cloud.resource("dynamodb").Table(self._cloud.outputs["IdempotencyTableName"])
        records = EffectTable(table).read_many(list(final.values()))
        return {row: records.get(effect_id) for row, effect_id in final.items()}

    @staticmethod
    def _says(row: RowItem, record: EffectRecord | None) -> bool:
        if record is None or record.state is not State.DONE:
            return False
        identity = RowIdentity(row.upload_id, row.row_number, row.line, row.key, row.prompt_version)
        told = terminal_row(identity, record, row.finished_at)
        return (told.outcome, told.label, told.reason) == (row.outcome, row.label, row.reason)
