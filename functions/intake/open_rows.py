"""Which rows of an upload need an event: those without an item, and without a stored answer to make one of.

The file is read again as admission read it, by what META stores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from functions.clock import Clock
from functions.intake.questions import Question, Questions
from functions.intake.records import open_csv
from functions.intake.source import ObjectVersion
from functions.settings import Limits
from functions.uploads.terminal import RowIdentity, terminal_row

if TYPE_CHECKING:
    from functions.classify.task import Task
    from functions.effects.record import EffectRecord
    from functions.intake.pipeline import Timings
    from functions.intake.report import ReadMany
    from functions.intake.source import Source
    from functions.uploads.model import RowItem, Upload
    from functions.uploads.table import UploadsTable

NOTHING_TO_CLASSIFY = "nothing_to_classify"


class OpenRows:
    """Finds the open rows of uploads. `max_paid_attempts` decides which stored records are final (see EffectRecord)."""

    def __init__(
        self, *, source: Source, table: UploadsTable, read_many: ReadMany, max_paid_attempts: int, clock: Clock
    ) -> None:
        self._source = source
        self._table = table
        self._read_many = read_many
        self._max_paid_attempts = max_paid_attempts
        self._clock = clock

    def questions(self, upload: Upload, task: Task) -> Iterator[Question]:
        """The valid records behind the checkpoint; on a repeated pass, only those whose row has no item.

        On the first pass hardly a row can have one. On later ones most may, and neither a look-up, a refused write nor
        an event is spent on them; a row that an operator reopened counts as one without.
        """
        version = ObjectVersion(upload.bucket, upload.object_key, upload.version_id, upload.bytes)
        limits = Limits.model_validate(upload.limits)
        csv = open_csv(self._source.open(version), limits, encoding=upload.encoding, delimiter=upload.delimiter)
        questions = Questions(task)
        ended = self._ended(upload)
        for record in csv.records():
            if record.outcome == "valid" and record.number > upload.checkpoint and not ended(record.number):
                yield questions.of(record)

    def _ended(self, upload: Upload) -> Callable[[int], bool]:
        """Whether a row has its item; to be asked in row order, since the items are read beside the file."""
        if upload.generation == 1:
            return lambda _number: False
        items = (item.row_number for item in self._table.iter_rows(upload.upload_id))
        following = next(items, None)

        def ended(number: int) -> bool:
            nonlocal following
            while following is not None and following < number:
                following = next(items, None)
            return following == number

        return ended

    def without_answer(self, upload: Upload, asked: Sequence[Question], timings: Timings) -> list[Question]:
        """Those of at most 100 questions that need an event, in their order; the others' items are written. For any
        thread."""
        with timings.of("lookup"):
            records = self._look_up(asked)
        left = []
        for question in asked:
            item = self._item(upload, question, records)
            if item is None:
                left.append(question)
                continue
            with timings.of("items"):
                self._table.put_row(item)
        return left

    def _look_up(self, questions: Sequence[Question]) -> Mapping[str, EffectRecord]:
        ids = [question.effect_id for question in questions if question.effect_id]
        return self._read_many(ids) if ids else {}

    def _item(self, upload: Upload, question: Question, records: Mapping[str, EffectRecord]) -> RowItem | None:
        """The row's terminal item, where it needs no event."""
        row = RowIdentity(upload.upload_id, question.row_number, question.line, question.key, upload.prompt_version)
        now = int(self._clock())
        if not question.key:
            # Nothing of it would be shown to the model: an event could only fail, and its key would be shared.
            return row.item("failed", now, reason=NOTHING_TO_CLASSIFY)
        record = records.get(question.effect_id)
        if record is None or not record.final_without_request(self._max_paid_attempts):
            return None
        return terminal_row(row, record, now)
