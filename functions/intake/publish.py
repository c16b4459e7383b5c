"""Publishing the rows of an upload: one event for each row without an answer, from checkpoint to checkpoint.

Look-ups and requests to the bus run beside each other, and are taken back in the order of the file. So every row up to
the checkpoint has its event on the bus or its terminal item in the table; what lies behind it is published again after
a kill, under the same deduplication ids.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from functions.classify.task import Task
from functions.clock import Clock, wall_clock
from functions.events.entries import Entry, Packer
from functions.events.publisher import PublishIncomplete
from functions.intake.open_rows import OpenRows
from functions.intake.pipeline import THREADS, Pipeline, Timings
from functions.intake.questions import Question, batches
from functions.intake.row_events import refused_row, row_number_of, row_submitted

if TYPE_CHECKING:
    from concurrent.futures import Future

    from functions.events.publisher import Publisher
    from functions.intake.report import ReadMany
    from functions.intake.source import Source
    from functions.uploads.model import Upload
    from functions.uploads.table import UploadsTable

End = Literal["published", "more", "stopped", "overtaken"]


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
        self._table = table
        self._publisher = publisher
        self._bus_arn = bus_arn
        self._clock = clock
        self._open_rows = OpenRows(
            source=source, table=table, read_many=read_many, max_paid_attempts=max_paid_attempts, clock=clock
        )

    def take(self, upload: Upload, deadline: float) -> Upload | None:
        """Become the upload's publisher until `deadline`; None when nothing is to publish or another is alive."""
        return self._table.take_publishing(
            upload.upload_id, upload.generation, now=int(self._clock()), until=int(deadline) + 1
        )

    def publish(self, upload: Upload, until: float, timings: Timings | None = None) -> End:
        """Publish from the checkpoint on, as the upload's publisher. `until` is in seconds since the epoch.

        Ends as `published` (all of it), `more` (out of time, but some rows further), `stopped` (the upload does not
        run, or began another generation) or `overtaken` (another publisher is ahead, and goes on). `timings` gets the
        parts `read`, and of all threads together `lookup`, `items` and `publish`.
        """
        timings = timings or Timings()
        try:
            with Pipeline() as pipeline:
                checkpoints = _Checkpoints(self._table, upload)
                run = _Pass(pipeline, checkpoints, partial(self._send, upload), self._bus_arn, timings)
                end = self._run(run, upload, until)
        except Exception:
            # Not waiting for the lease to run out: whoever looks next may go on from the checkpoint.
            self._leave(upload, published=False)
            raise
        if end != "overtaken":
            self._leave(upload, published=end == "published")
        return end

    def _run(self, run: _Pass, upload: Upload, until: float) -> End:
        task = Task.from_json(upload.task)
        asked = run.timings.each("read", batches(self._open_rows.questions(upload, task)))

        def answer(questions: Sequence[Question]) -> list[Question]:
            return self._open_rows.without_answer(upload, questions, run.timings)

        for questions, left in run.pipeline.each(answer, asked):
            for question in left:
                if end := run.submit(row_submitted(upload, task, question, self._clock)):
                    return end
            if end := run.passed(questions[-1].row_number):
                return end
            # Looked at after a batch, not before: every invocation gets some rows further, however little time it has.
            if self._clock() >= until:
                return run.drain() or "more"
        return run.drain() or run.passed(upload.counts.records) or "published"

    def _send(self, upload: Upload, entries: Sequence[Entry]) -> None:
        """Publish; a row whose event the bus will never take ends as failed instead of holding up all behind it."""
        try:
            self._publisher.publish(entries)
        except PublishIncomplete as incomplete:
            if not incomplete.final:
                raise
            for entry in entries:
                if entry.dedup_id in incomplete.unpublished:
                    self._refuse(upload, entry)

    def _refuse(self, upload: Upload, entry: Entry) -> None:
        self._table.put_row(refused_row(entry, upload.prompt_version, int(self._clock())))

    def _leave(self, upload: Upload, *, published: bool) -> None:
        self._table.leave_publishing(upload.upload_id, upload.generation, published=published)


class _Pass:
    """The requests of one pass that are under way, in the order of their rows."""

    def __init__(
        self,
        pipeline: Pipeline,
        checkpoints: _Checkpoints,
        send: Callable[[Sequence[Entry]], None],
        bus_arn: str,
        timings: Timings,
    ) -> None:
        self.pipeline = pipeline
        self.timings = timings
        self._checkpoints = checkpoints
        self._publish = send
        self._packer = Packer(bus_arn)
        # The last row of each, and the request, or None where all rows up to that one have their answers.
        self._under_way: deque[tuple[int, Future[None] | None]] = deque()

    def submit(self, entry: Entry) -> End | None:
        """Take a row's event. None lets the pass go on, here and below."""
        if full := self._packer.add(entry):
            self._send(full)
        return self._wait() if len(self._under_way) > THREADS else None

    def passed(self, row_number: int) -> End | None:
        """Every row up to this one was submitted or has its item."""
        if not len(self._packer):
            if self._under_way and self._under_way[-1][1] is None:
                self._under_way.pop()
            self._under_way.append((row_number, None))
        while self._under_way and self._ended(self._under_way[0][1]):
            if end := self._wait():
                return end
        return None

    def drain(self) -> End | None:
        """Send what is left, and wait for every request."""
        if len(self._packer):
            self._send(self._packer.take())
        while self._under_way:
            if end := self._wait():
                return end
        return None

    def _send(self, entries: Sequence[Entry]) -> None:
        self._under_way.append((row_number_of(entries[-1]), self.pipeline.submit(self._timed, entries)))

    def _timed(self, entries: Sequence[Entry]) -> None:
        with self.timings.of("publish"):
            self._publish(entries)

    def _wait(self) -> End | None:
        """Take the oldest back. All before it were taken back, so every row up to its last is behind us."""
        row_number, request = self._under_way.popleft()
        if request is not None:
            request.result()
        return self._checkpoints.advance(row_number)

    @staticmethod
    def _ended(request: Future[None] | None) -> bool:
        return request is None or request.done()


class _Checkpoints:
    """The checkpoint of one pass, which only moves forward. Moving it is also where a pause is seen."""

    def __init__(self, table: UploadsTable, upload: Upload) -> None:
        self._table = table
        self._upload = upload
        self._reached = upload.checkpoint

    def advance(self, row_number: int) -> End | None:
        if row_number <= self._reached:
            return None
        upload = self._upload
        moved = self._table.advance_checkpoint(upload.upload_id, upload.generation, row_number)
        if moved is None and (end := self._obstacle(row_number)):
            return end
        self._reached = row_number
        return None

    def _obstacle(self, row_number: int) -> End | None:
        upload = self._upload
        current = self._table.get_upload(upload.upload_id)
        if current is None or current.state != "running" or current.generation != upload.generation:
            return "stopped"
        # Exactly there: our own write, whose response was lost and which boto3 repeated.
        return None if current.checkpoint == row_number and not current.published else "overtaken"
