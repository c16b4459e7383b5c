"""Retrying the failures of a finished upload that another try could mend. Nothing that was paid is paid again.

For each such row the record of its key is released and the row counted as open; opening the upload comes last. A death
before that is repaired by the same order again: it finds the rows that are open already and goes on from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from functions.classify.task import Task
from functions.clock import Clock, wall_clock
from functions.effects.errors import MoveRefusedError
from functions.effects.record import EffectRecord
from functions.effects.resolve import Resolver
from functions.effects.states import State
from functions.effects.table import EffectTable
from functions.finish.rows import OpenSource, RowResult, read_rows
from functions.intake.pipeline import Pipeline
from functions.intake.pricing import Pricing
from functions.intake.questions import Question, Questions, batches
from functions.operate.approve import find, refuse_too_old
from functions.operate.errors import NotDone, NothingToRetry
from functions.operate.opening import Opening
from functions.uploads.model import RowItem, Upload
from functions.uploads.table import UploadsTable

REASON = "retry of retryable failures"


@dataclass(frozen=True)
class Retried:
    """`rows` are open again, of which `answered` have an answer by now and cost nothing; the others cost at most
    `worst_case_microusd`, in integer micro-dollars, which is reserved."""

    upload_id: str
    rows: int
    answered: int
    worst_case_microusd: int


@dataclass(frozen=True)
class _Row:
    """A row to open again. `item` is None where that was done before."""

    question: Question
    item: RowItem | None


class Retry:
    """The order, over the tables and the uploaded objects. `max_paid_attempts` is the deployed setting."""

    def __init__(
        self,
        *,
        table: UploadsTable,
        effects: EffectTable,
        resolver: Resolver,
        open_source: OpenSource,
        max_paid_attempts: int,
        clock: Clock = wall_clock,
    ) -> None:
        self._table = table
        self._effects = effects
        self._resolver = resolver
        self._open_source = open_source
        self._max_paid_attempts = max_paid_attempts
        self._clock = clock
        self._opening = Opening(table, clock)

    def retry(self, upload_id: str, *, actor: str, reason: str = "") -> Retried:
        """Open the upload again for its retryable failures. The next tick has them published. `actor` and `reason` are
        kept in every record that is moved.

        Raises UnknownUpload, NotDone, TooOld, NothingToRetry or Contended, and what S3 and DynamoDB raise.
        """
        upload = find(self._table, upload_id)
        if upload.state != "done":
            raise NotDone(upload_id, upload.state)
        refuse_too_old(upload, self._clock())
        task = Task.from_json(upload.task)
        pricing, rows = Pricing(task, self._max_paid_attempts), 0

        def open_again(batch: Sequence[_Row]) -> list[tuple[Question, EffectRecord | None]]:
            return self._open_again(batch, actor, reason or REASON)

        with Pipeline() as pipeline:
            for _, opened in pipeline.each(open_again, batches(self._rows(upload, task))):
                rows += len(opened)
                for question, record in opened:
                    pricing.add([question], {record.id: record} if record else {})
        if not rows:
            raise NothingToRetry(upload_id)
        # Another order may have opened it meanwhile, for other rows: these are then reserved for beside them.
        self._opening.open(upload_id, pricing.worst_case_microusd, actor)
        return Retried(upload_id, rows, pricing.known, pricing.worst_case_microusd)

    def _rows(self, upload: Upload, task: Task) -> Iterator[_Row]:
        questions = Questions(task)
        for result in read_rows(upload, self._open_source, self._table):
            if _is_to_retry(result):
                yield _Row(questions.of(result.record), result.item)

    def _open_again(self, rows: Sequence[_Row], actor: str, reason: str) -> list[tuple[Question, EffectRecord | None]]:
        """Those of the rows that are open now, with what is stored of their keys."""
        found = self._effects.read_many([row.question.effect_id for row in rows if row.question.effect_id])
        opened = []
        for row in rows:
            record = found.get(row.question.effect_id)
            if record is not None:
                record = self._release(record, actor, reason)
            if row.item is None or self._table.reopen_row(row.item):
                opened.append((row.question, record))
        return opened

    def _release(self, record: EffectRecord, actor: str, reason: str) -> EffectRecord | None:
        """The record as it is when its retryable failure, if it is one, was released."""
        if not _is_retryable(record):
            return record
        try:
            return self._resolver.rerun(record, actor=actor, reason=reason)
        except MoveRefusedError:
            # Another row of this key, another order, or a delivery was faster: what came of it holds.
            return self._effects.read(record.id)


def _is_to_retry(result: RowResult) -> bool:
    if result.outcome == "open":
        # In an upload that is done: opened again by an order that did not get to its end.
        return True
    return result.outcome == "failed" and result.item is not None and result.item.retryable and not result.item.paid


def _is_retryable(record: EffectRecord) -> bool:
    outcome = record.outcome
    return (
        record.state is State.DONE
        and outcome is not None
        and (outcome.kind, outcome.paid, outcome.retryable) == ("failed", False, True)
    )
