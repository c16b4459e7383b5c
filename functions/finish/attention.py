"""Later outcomes of keys: rows that are unknown or failed retryably, in every upload, whose key has another end by now.

A tick finds them and opens their finished uploads again; each upload's rows are replaced under the claim of its look,
as its results are written, so no results are ever older than the rows. Nothing is published here: an attempt that an
operator orders or a proof allows is published by that order, which reopens a row and its upload with a reservation (a
repeat of the command repairs one that was killed); what comes of it reaches every other row of the key through here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from typing import Any

from aws_lambda_powertools import Logger

from functions.classify.task import Task
from functions.clock import Clock
from functions.effects.record import EffectRecord
from functions.effects.table import EffectTable
from functions.finish.count import pause_before_next_attention
from functions.intake.questions import batches
from functions.uploads.budget import budget_day
from functions.uploads.keys import record_id
from functions.uploads.model import AttentionRow, OpenUpload, RowItem, Upload
from functions.uploads.sweeps import SweepsTable
from functions.uploads.table import UploadsTable
from functions.uploads.terminal import RowIdentity, terminal_row

logger = Logger(service="finish", child=True)
ACTOR = "sweep"
MOST_CHANGES = 20_000
"""Changed rows that one tick takes on; it holds them in memory. Further ones are found by a later tick."""


class Attention:
    """One tick's part of the rounds over the index of such rows."""

    def __init__(
        self,
        *,
        table: UploadsTable,
        sweeps: SweepsTable,
        effects: EffectTable,
        max_paid_attempts: int,
        tick_s: float,
        is_source_kept: Callable[[Upload], bool],
        clock: Clock,
    ) -> None:
        """`is_source_kept`: whether the object version that an upload was read from is still there."""
        self._table = table
        self._sweeps = sweeps
        self._effects = effects
        self._max_paid_attempts = max_paid_attempts
        self._tick_s = tick_s
        self._is_source_kept = is_source_kept
        self._clock = clock
        self._tasks: dict[str, str] = {}
        self._changed: dict[str, list[AttentionRow]] = defaultdict(list)

    def find(self, still_open: Collection[str], *, claimed_until: int, until: float) -> list[OpenUpload]:
        """Look rows up until then, and open finished uploads with changed rows again: those returned, to be looked at.

        `still_open`: uploads with an OPEN item, left to their own look. Times are seconds since the epoch.
        """
        position = self._sweeps.claim_round("attention", claimed_until)
        if position is None:
            return []
        start: dict[str, Any] = position.get("start", {})
        rows_seen = int(position.get("rows", 0))
        while True:
            rows, start = self._page(start)
            rows_seen += len(rows)
            full = sum(map(len, self._changed.values())) >= MOST_CHANGES
            if not start or full or self._clock() >= until:
                break
        reopened = [opened for upload_id in list(self._changed) if (opened := self._reopen(upload_id, still_open))]
        now = int(self._clock())
        pause_s = 0.0 if start else pause_before_next_attention(rows_seen, self._tick_s) - self._tick_s / 2
        position = {"start": start, "rows": rows_seen} if start else {}
        self._sweeps.leave_round("attention", claimed_until, next_at=now + int(pause_s), position=position)
        return reopened

    def replace(self, upload: Upload) -> int:
        """Put the later outcomes of keys into the rows of an upload that were found; how many. Needs its look where
        the upload is open."""
        return sum(self._replace(upload, seen) for seen in self._changed.pop(upload.upload_id, ()))

    def _page(self, start: dict[str, Any]) -> tuple[list[AttentionRow], dict[str, Any]]:
        rows, following = self._sweeps.attention_page(start)
        for batch in batches(rows):
            self._look_up(batch)
        return rows, following

    def _look_up(self, rows: Iterable[AttentionRow]) -> None:
        ids = {(row.pk, row.sk): effect_id for row in rows if (effect_id := self._effect_id(row))}
        records = self._effects.read_many(list(ids.values()))
        for row in rows:
            record = records.get(ids.get((row.pk, row.sk), ""))
            if record is not None and self._moved_on(row, record):
                self._changed[row.upload_id].append(row)

    def _effect_id(self, row: AttentionRow) -> str:
        """Empty where the upload is gone, or a row has no key."""
        if row.upload_id not in self._tasks:
            upload = self._table.get_upload(row.upload_id, consistent=False)
            self._tasks[row.upload_id] = Task.from_json(upload.task).name if upload else ""
        name = self._tasks[row.upload_id]
        return record_id(name, row.key) if name and row.key else ""

    def _moved_on(self, row: AttentionRow, record: EffectRecord) -> bool:
        if not record.final_without_request(self._max_paid_attempts):
            return False
        outcome = "classified" if record.reply.kind == "succeeded" else record.reply.kind
        return (outcome, record.attempt) != (row.outcome, row.attempt)

    def _reopen(self, upload_id: str, still_open: Collection[str]) -> OpenUpload | None:
        if upload_id in still_open:
            return None
        upload = self._table.get_upload(upload_id)
        if upload is None or upload.state != "done" or not any(map(self._is_ended, self._changed[upload_id])):
            return None
        if not upload.keeps_its_rows(self._clock()) or not self._is_source_kept(upload):
            # Its results cannot be made anew, so it is not opened: it could never end. The rows alone follow.
            replaced = self.replace(upload)
            logger.info("rows replaced, results left as they are", upload_id=upload_id, rows=replaced)
            return None
        day = budget_day(self._clock())
        opened = self._table.reopen(upload, actor=ACTOR, day=day, reserve_microusd=0, publish=False)
        return OpenUpload(upload_id=upload_id) if opened else None

    def _is_ended(self, row: AttentionRow) -> bool:
        """Whether it is still as the index has it; the index may be late, and a reopened row is its operator's."""
        item = self._table.get_row(row.upload_id, row.row_number)
        return item is not None and (item.outcome, item.attempt) == (row.outcome, row.attempt)

    def _replace(self, upload: Upload, seen: AttentionRow) -> bool:
        row = self._table.get_row(seen.upload_id, seen.row_number)
        name = self._tasks[seen.upload_id]
        record = self._effects.read(record_id(name, seen.key))
        if row is None or record is None or not self._moved_on(seen, record):
            return False
        return self._table.replace_row(self._later(upload, row, record), seen)

    def _later(self, upload: Upload, row: RowItem, record: EffectRecord) -> RowItem:
        identity = RowIdentity(row.upload_id, row.row_number, row.line, row.key, upload.prompt_version)
        return terminal_row(identity, record, int(self._clock()))
