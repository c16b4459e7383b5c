"""The sweep of one upload: every published row without an item is joined with what is stored of its key.

A final record gives the row its item; a claim whose lease is over becomes unknown first; what was released or never
claimed, and what may be asked once more, is published again as a new generation, so often and no more, and then given
up. A claim that is alive is left. Publishing a row that is still on its way costs an event, not a request: its claim
decides. A walk that is cut short goes on where it stopped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from functions.classify.task import Task
from functions.clock import Clock
from functions.effects.record import EffectRecord
from functions.effects.states import State
from functions.events.entries import Entry, Packer
from functions.events.publisher import Publisher
from functions.finish.counting import GIVEN_UP, SWEPT
from functions.finish.open_rows import open_questions
from functions.finish.rows import OpenSource
from functions.finish.settling import Settling
from functions.intake.questions import Question, batches
from functions.intake.row_events import row_number_of, row_submitted
from functions.metrics import Count
from functions.uploads.model import Upload
from functions.uploads.sweeps import SweepsTable, Walk, WalkMode
from functions.uploads.table import UploadsTable

SweepEnd = Literal["swept", "sweeping", "stopped"]
"""Every open row was dealt with; out of time, the next tick goes on; the upload does not run any more."""


@dataclass
class _Sweeping:
    """Where one walk stands. `packer` holds events of rows behind `position` only."""

    upload: Upload
    task: Task
    packer: Packer
    mode: WalkMode
    position: int
    counted: Counter[str] = field(default_factory=Counter)

    def walk(self, *, ended: bool = False) -> Walk:
        upload = self.upload
        return Walk(
            generation=upload.generation,
            resumes=upload.resumes,
            position=self.position,
            mode=self.mode,
            ended=ended,
        )


class Sweep:
    """Sweeps uploads, each under the claim of its look. `max_sweeps`: passes since an operator's last order."""

    def __init__(
        self,
        *,
        table: UploadsTable,
        sweeps: SweepsTable,
        settling: Settling,
        publisher: Publisher,
        bus_arn: str,
        open_source: OpenSource,
        max_sweeps: int,
        clock: Clock,
        count: Count,
    ) -> None:
        self._table = table
        self._sweeps = sweeps
        self._settling = settling
        self._publisher = publisher
        self._bus_arn = bus_arn
        self._open_source = open_source
        self._max_sweeps = max_sweeps
        self._clock = clock
        self._count = count

    def unfinished(self, upload: Upload) -> Walk | None:
        """The walk that an earlier tick could not end."""
        return self._sweeps.unfinished_walk(upload)

    def run(self, upload: Upload, walk: Walk | None, *, quiet: bool, until: float) -> SweepEnd:
        """Walk over the open rows, until then (seconds since the epoch), from where `walk` stopped or from the start.

        `quiet`: the queue has long been empty. Only then may a row be given up: elsewhere it may only be waiting.
        """
        if walk is None:
            gives_up = quiet and not self._may_publish(upload)
            mode: WalkMode = "gives_up" if gives_up else "settles"
            walk = Walk(generation=upload.generation, resumes=upload.resumes, mode=mode)
        task = Task.from_json(upload.task)
        run = _Sweeping(upload, task, Packer(self._bus_arn), walk.mode, walk.position)
        rows = open_questions(upload, task, self._open_source, self._table, behind=walk.position)
        try:
            return self._walk(run, rows, until)
        finally:
            self._count(run.counted)

    def _walk(self, run: _Sweeping, rows: Iterator[Question], until: float) -> SweepEnd:
        for questions in batches(rows):
            if not self._batch(run, questions):
                return "stopped"
            # Looked at after a batch, so that every tick gets some rows further.
            if self._clock() >= until:
                return self._leave(run, questions[-1].row_number, ended=False)
        return self._leave(run, run.upload.checkpoint, ended=True)

    def _batch(self, run: _Sweeping, questions: list[Question]) -> bool:
        """False: the upload stopped."""
        if run.mode == "gives_up" and not self._is_as_seen(run.upload):
            return False
        records = self._settling.look_up(questions)
        return all(self._row(run, question, records.get(question.effect_id)) for question in questions)

    def _row(self, run: _Sweeping, question: Question, stored: EffectRecord | None) -> bool:
        record = self._settling.current(stored)
        if self._settling.end(run.upload, question, record):
            run.counted[SWEPT] += 1
            return True
        if record is not None and record.state is State.CLAIMED:
            return True
        if run.mode == "gives_up":
            run.counted[GIVEN_UP] += self._settling.give_up(run.upload, run.task, question)
            return True
        return self._publish_again(run, question)

    def _publish_again(self, run: _Sweeping, question: Question) -> bool:
        if run.mode == "settles":
            if not self._may_publish(run.upload):
                return True
            if not self._begin_pass(run, question):
                return False
        run.counted[SWEPT] += 1
        full = run.packer.add(row_submitted(run.upload, run.task, question, self._clock))
        return self._send(run, full) if full else True

    def _begin_pass(self, run: _Sweeping, question: Question) -> bool:
        begun = self._table.begin_sweep_pass(run.upload, max_sweeps=self._max_sweeps)
        if begun is None:
            return False
        run.upload, run.mode, run.position = begun, "publishes", question.row_number - 1
        self._note(run, ended=False)
        return True

    def _may_publish(self, upload: Upload) -> bool:
        return upload.sweeps < self._max_sweeps and upload.keeps_its_rows(self._clock())

    def _is_as_seen(self, seen: Upload) -> bool:
        """Whether it runs, and no operator has ordered anything since."""
        now = self._table.get_upload(seen.upload_id)
        return now is not None and (now.state, now.generation, now.resumes) == (
            "running",
            seen.generation,
            seen.resumes,
        )

    def _send(self, run: _Sweeping, entries: Sequence[Entry]) -> bool:
        if not self._is_as_seen(run.upload):
            return False
        self._publisher.publish(entries)
        run.position = row_number_of(entries[-1])
        self._note(run, ended=False)
        return True

    def _leave(self, run: _Sweeping, position: int, *, ended: bool) -> SweepEnd:
        if len(run.packer) and not self._send(run, run.packer.take()):
            return "stopped"
        run.position = position
        self._note(run, ended=ended)
        return "swept" if ended else "sweeping"

    def _note(self, run: _Sweeping, *, ended: bool) -> None:
        self._sweeps.note_walk(run.upload.upload_id, run.walk(ended=ended))
