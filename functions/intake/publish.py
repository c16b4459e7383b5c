"""Publishing the rows of an upload: one event for each row without an answer, from checkpoint to checkpoint.

The file is read again as admission read it, by what META stores. Every row up to the checkpoint has its event on the
bus or its terminal item in the table; what lies behind it is published again after a kill, under the same
deduplication ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from functions.classify.task import Task
from functions.clock import Clock, wall_clock
from functions.crash_points import reach
from functions.events.entries import Entry, Packer
from functions.intake.questions import Question, Questions, batches
from functions.intake.records import open_csv
from functions.intake.row_events import row_number_of, row_submitted
from functions.intake.source import ObjectVersion
from functions.settings import Limits
from functions.uploads.model import RowItem
from functions.uploads.terminal import RowIdentity, terminal_row

if TYPE_CHECKING:
    from functions.effects.record import EffectRecord
    from functions.events.publisher import Publisher
    from functions.intake.report import ReadMany
    from functions.intake.source import Source
    from functions.uploads.model import Upload
    from functions.uploads.table import UploadsTable

NOTHING_TO_CLASSIFY = "nothing_to_classify"
End = Literal["published", "more", "stopped", "overtaken"]


@dataclass
class _Pass:
    """Where one publish pass stands. `packer` holds events of rows behind the checkpoint only."""

    upload: Upload
    task: Task
    packer: Packer
    checkpoint: int = field(init=False)

    def __post_init__(self) -> None:
        self.checkpoint = self.upload.checkpoint


class Publishing:
    """Publishes uploads. `max_paid_attempts` decides which stored records are final (see EffectRecord)."""

    def __init__(
        self,
        *,
        source: Source,
        table: UploadsTable,
        read_many: ReadMany,
        publisher: Publisher,
        bus_arn: str,
        max_paid_attempts: int,
        clock: Clock = wall_clock,
    ) -> None:
        self._source = source
        self._table = table
        self._read_many = read_many
        self._publisher = publisher
        self._bus_arn = bus_arn
        self._max_paid_attempts = max_paid_attempts
        self._clock = clock

    def take(self, upload: Upload, deadline: float) -> Upload | None:
        """Become the upload's publisher until `deadline`; None when nothing is to publish or another is alive."""
        reach("intake.take_publishing.before")
        taken = self._table.take_publishing(
            upload.upload_id, upload.generation, now=int(self._clock()), until=int(deadline) + 1
        )
        reach("intake.take_publishing.after")
        return taken

    def publish(self, upload: Upload, until: float) -> End:
        """Publish from the checkpoint on, as the upload's publisher. `until` is in seconds since the epoch.

        Ends as `published` (all of it), `more` (out of time, but some rows further), `stopped` (the upload does not
        run, or began another generation) or `overtaken` (another publisher is ahead, and goes on).
        """
        run = _Pass(upload, Task.from_json(upload.task), Packer(self._bus_arn))
        try:
            end = self._run(run, until)
        except Exception:
            # Not waiting for the lease to run out: whoever looks next may go on from the checkpoint.
            self._leave(upload, published=False)
            raise
        if end != "overtaken":
            self._leave(upload, published=end == "published")
        return end

    def _run(self, run: _Pass, until: float) -> End:
        for questions in batches(self._questions(run)):
            if end := self._batch(run, questions, until):
                return end
        return self._flush(run) or self._advance(run, run.upload.counts.records) or "published"

    def _batch(self, run: _Pass, questions: Sequence[Question], until: float) -> End | None:
        records = self._look_up(questions)
        for question in questions:
            if item := self._item(run.upload, question, records):
                reach("intake.row_put.before")
                self._table.put_row(item)
                reach("intake.row_put.after")
            elif end := self._submit(run, question):
                return end
        # Looked at after a batch, not before: every invocation gets some rows further, however little time it has.
        out_of_time = self._clock() >= until
        if out_of_time and (end := self._flush(run)):
            return end
        if not len(run.packer) and (end := self._advance(run, questions[-1].row_number)):
            return end
        return "more" if out_of_time else None

    def _questions(self, run: _Pass) -> Iterator[Question]:
        upload = run.upload
        version = ObjectVersion(upload.bucket, upload.object_key, upload.version_id, upload.bytes)
        limits = Limits.model_validate(upload.limits)
        csv = open_csv(self._source.open(version), limits, encoding=upload.encoding, delimiter=upload.delimiter)
        questions = Questions(run.task)
        for record in csv.records():
            if record.outcome == "valid" and record.number > upload.checkpoint:
                yield questions.of(record)

    def _look_up(self, questions: Sequence[Question]) -> Mapping[str, EffectRecord]:
        ids = [question.effect_id for question in questions if question.effect_id]
        reach("intake.lookup.before")
        records = self._read_many(ids) if ids else {}
        reach("intake.lookup.after")
        return records

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

    def _submit(self, run: _Pass, question: Question) -> End | None:
        full = run.packer.add(row_submitted(run.upload, run.task, question, self._clock))
        return self._send(run, full) if full else None

    def _flush(self, run: _Pass) -> End | None:
        return self._send(run, run.packer.take()) if len(run.packer) else None

    def _send(self, run: _Pass, entries: Sequence[Entry]) -> End | None:
        reach("intake.put_events.before")
        self._publisher.publish(entries)
        reach("intake.put_events.after")
        # Every row before the last of these was handled before it, so all of them are behind us.
        return self._advance(run, row_number_of(entries[-1]))

    def _advance(self, run: _Pass, row_number: int) -> End | None:
        """Move the checkpoint; None lets the pass go on. This is also where a pause is seen."""
        if row_number <= run.checkpoint:
            return None
        upload = run.upload
        reach("intake.checkpoint.before")
        moved = self._table.advance_checkpoint(upload.upload_id, upload.generation, row_number)
        reach("intake.checkpoint.after")
        if moved is None and (end := self._obstacle(upload, row_number)):
            return end
        run.checkpoint = row_number
        return None

    def _obstacle(self, upload: Upload, row_number: int) -> End | None:
        current = self._table.get_upload(upload.upload_id)
        if current is None or current.state != "running" or current.generation != upload.generation:
            return "stopped"
        # Exactly there: our own write, whose response was lost and which boto3 repeated.
        return None if current.checkpoint == row_number and not current.published else "overtaken"

    def _leave(self, upload: Upload, *, published: bool) -> None:
        reach("intake.leave_publishing.before")
        self._table.leave_publishing(upload.upload_id, upload.generation, published=published)
        reach("intake.leave_publishing.after")
