"""Rows that are unknown, in every upload, with what a person must know to settle them: found by the sparse index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from functions.classify.prices import worst_case_microusd
from functions.classify.task import Task
from functions.effects.record import EffectRecord
from functions.effects.states import Event, State
from functions.effects.table import EffectTable
from functions.finish.rows import OpenSource
from functions.intake.questions import batches
from functions.intake.records import open_csv
from functions.intake.source import SourceGone
from functions.settings import Limits
from functions.uploads.keys import record_id, row_address
from functions.uploads.model import AttentionRow, RowItem, Upload
from functions.uploads.table import UploadsTable

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class UnknownRow:
    """A row whose item says unknown, and the record of its key as it is now (None: there is none).

    `reopened`: an order counts it as open again. `request_microusd`: what one request for it costs at most; None where
    nothing tells it, since the uploaded file is not kept any more.
    """

    upload: Upload
    item: RowItem
    effect_id: str
    record: EffectRecord | None
    reopened: bool
    request_microusd: int | None = None

    @property
    def in_doubt(self) -> bool:
        """Whether nothing but a decision can move it: no order is under way, and no answer has come."""
        record = self.record
        return record is None or (record.state is State.UNKNOWN and not is_ordered(record) and not self.reopened)

    @property
    def ordered(self) -> bool:
        """Another attempt is allowed and was not made yet. A row that is reopened in an upload that is done belongs to
        an order that did not get to its end; in another one it is about to be asked."""
        record = self.record
        if record is None or record.state is State.DONE or self.in_doubt:
            return False
        return self.upload.state == "done" or not self.reopened

    @property
    def doubted_microusd(self) -> int | None:
        """What its attempts in doubt may have cost together."""
        attempts = self.record.paid_attempts if self.record else 0
        return None if self.request_microusd is None else attempts * self.request_microusd


def is_ordered(record: EffectRecord) -> bool:
    """Whether an operator ordered another attempt since the last one ended, which was not made yet."""
    since = record.finished_at or 0
    return any(one.event == Event.ORDER_ATTEMPT and one.at >= since for one in record.resolutions)


class UnknownRows:
    """Looks such rows up. The index may be a moment late; what it names is read consistently."""

    def __init__(self, *, table: UploadsTable, effects: EffectTable, open_source: OpenSource) -> None:
        self._table = table
        self._effects = effects
        self._open_source = open_source

    def everywhere(self) -> list[UnknownRow]:
        return self._found(self._table.attention_rows(outcome=UNKNOWN))

    def of_upload(self, upload_id: str) -> list[UnknownRow]:
        return self._found(self._table.attention_rows(outcome=UNKNOWN, upload_id=upload_id))

    def of_key(self, key: str) -> list[UnknownRow]:
        return self._found(self._table.attention_rows(outcome=UNKNOWN, key=key))

    def of_row(self, upload: Upload, row_number: int) -> UnknownRow | None:
        """One row of an upload; None where it has no item, or another outcome."""
        seen = AttentionRow(
            **row_address(upload.upload_id, row_number),
            upload_id=upload.upload_id,
            key="",
            outcome=UNKNOWN,
            attempt=0,
        )
        return next(iter(self._found([seen])), None)

    def priced(self, rows: Sequence[UnknownRow], *, from_file: bool = False) -> list[UnknownRow]:
        """The rows with what a request for each costs at most, told by their records, or by the uploaded files.

        `from_file`: by the files alone, since their rows are going to be published; raises what reading one raises.
        """
        priced = []
        for upload, those in _by_upload(rows):
            told = {} if from_file else {row.item.row_number: _told_price(row.record) for row in those}
            missing = {row.item.row_number for row in those if told.get(row.item.row_number) is None}
            try:
                told |= self._read_prices(upload, missing)
            except SourceGone:
                if from_file:
                    raise
            priced += [replace(row, request_microusd=told.get(row.item.row_number)) for row in those]
        return priced

    def _read_prices(self, upload: Upload, numbers: set[int]) -> dict[int, int | None]:
        """From the file, which is read no further than needed."""
        if not numbers:
            return {}
        task, prices = Task.from_json(upload.task), dict[int, int | None]()
        limits = Limits.model_validate(upload.limits)
        csv = open_csv(self._open_source(upload), limits, encoding=upload.encoding, delimiter=upload.delimiter)
        for record in csv.records():
            if record.number in numbers:
                prices[record.number] = worst_case_microusd(task, task.rendered(record.fields))
                if len(prices) == len(numbers):
                    break
        return prices

    def _found(self, rows: Iterable[AttentionRow]) -> list[UnknownRow]:
        """In the order of uploads and rows, without those that were replaced since the index saw them."""
        uploads, found = _Uploads(self._table), list[UnknownRow]()
        for batch in batches(rows):
            items = [
                (item, reopened)
                for item, reopened in self._table.rows_as_they_are(batch)
                if item.outcome == UNKNOWN and item.upload_id in uploads
            ]
            ids = [record_id(uploads.task_name(item.upload_id), item.key) for item, _ in items]
            records = self._effects.read_many(ids)
            for (item, reopened), effect_id in zip(items, ids, strict=True):
                found.append(UnknownRow(uploads[item.upload_id], item, effect_id, records.get(effect_id), reopened))
        return sorted(found, key=lambda row: (row.item.upload_id, row.item.row_number))


class _Uploads:
    """The uploads of rows, each read once; a row whose upload is gone has nobody left to tell."""

    def __init__(self, table: UploadsTable) -> None:
        self._table = table
        self._found: dict[str, Upload | None] = {}
        self._names: dict[str, str] = {}

    def __contains__(self, upload_id: str) -> bool:
        if upload_id not in self._found:
            self._found[upload_id] = upload = self._table.get_upload(upload_id)
            self._names[upload_id] = Task.from_json(upload.task).name if upload else ""
        return self._found[upload_id] is not None

    def __getitem__(self, upload_id: str) -> Upload:
        upload = self._found[upload_id]
        if upload is None:
            raise KeyError(upload_id)
        return upload

    def task_name(self, upload_id: str) -> str:
        return self._names[upload_id]


def _by_upload(rows: Sequence[UnknownRow]) -> Iterator[tuple[Upload, list[UnknownRow]]]:
    grouped: dict[str, list[UnknownRow]] = {}
    for row in rows:
        grouped.setdefault(row.item.upload_id, []).append(row)
    return ((those[0].upload, those) for those in grouped.values())


def _told_price(record: EffectRecord | None) -> int | None:
    """What the record itself tells of the most that its request can have cost; of a kill, it tells nothing."""
    outcome = record.outcome if record else None
    told = outcome.audit.get("at_most_microusd") if outcome else None
    return None if told is None else int(told)
