"""The admission report: one pass over a file that validates, counts, keys and prices every record. Holds no file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from functions.intake.decode import CP1252
from functions.intake.pipeline import Pipeline, Timings
from functions.intake.pricing import Pricing
from functions.intake.questions import Question, Questions, batches
from functions.intake.records import CsvFile, open_csv
from functions.intake.refusals import NotUtf8
from functions.uploads.model import Counts

if TYPE_CHECKING:
    from functions.classify.task import Task
    from functions.effects.record import EffectRecord
    from functions.settings import Limits

ReadMany = Callable[[Sequence[str]], Mapping[str, "EffectRecord"]]


@dataclass(frozen=True, slots=True)
class Report:
    """What one file holds and may cost. `sha256` and `size` (bytes) are of exactly the bytes that were read."""

    sha256: str
    size: int
    encoding: str
    encoding_guessed: bool
    delimiter: str
    header: tuple[str, ...]
    counts: Counts
    worst_case_microusd: int


class Examiner:
    """Reports on files under one task. `read_many` looks up at most 100 effect ids and returns those that exist."""

    def __init__(self, task: Task, limits: Limits, max_paid_attempts: int, read_many: ReadMany) -> None:
        self._task = task
        self._limits = limits
        self._max_paid_attempts = max_paid_attempts
        self._read_many = read_many

    def report(self, opened: Callable[[], Iterator[bytes]], timings: Timings | None = None) -> Report:
        """Read the file (twice when it turns out not to be UTF-8). Raises Refused.

        `timings` gets the parts `read` (all of it but the look-ups) and `lookup` (in all threads together).
        """
        timings = timings or Timings()
        try:
            return self._pass(opened(), None, timings)
        except NotUtf8:
            guess = CP1252
        return self._pass(opened(), guess, timings)

    def _pass(self, chunks: Iterable[bytes], guess: str | None, timings: Timings) -> Report:
        def look_up(questions: Sequence[Question]) -> Mapping[str, EffectRecord]:
            with timings.of("lookup"):
                return self._look_up(questions)

        digest = _Digest(chunks)
        csv = open_csv(digest, self._limits, encoding=guess)
        pricing = Pricing(self._task, self._max_paid_attempts)
        counted = {"valid": 0, "rejected": 0, "duplicate": 0, "blank": 0}
        asked = timings.each("read", batches(self._questions(csv, counted)))
        with Pipeline() as pipeline:
            for questions, records in pipeline.each(look_up, asked):
                pricing.add(questions, records)
        # The identity is of the whole object, whatever the reader left unread behind the last record.
        digest.finish()
        return Report(
            sha256=digest.sha256,
            size=digest.size,
            encoding=csv.encoding,
            encoding_guessed=csv.encoding_guessed,
            delimiter=csv.delimiter,
            header=csv.header,
            counts=_counts(counted, pricing.known),
            worst_case_microusd=pricing.worst_case_microusd,
        )

    def _questions(self, csv: CsvFile, counted: dict[str, int]) -> Iterator[Question]:
        """Those of the valid records; all records are counted on the way."""
        questions = Questions(self._task)
        for record in csv.records():
            counted[record.outcome] += 1
            if record.outcome == "valid":
                yield questions.of(record)

    def _look_up(self, questions: Sequence[Question]) -> Mapping[str, EffectRecord]:
        ids = [question.effect_id for question in questions if question.effect_id]
        return self._read_many(ids) if ids else {}


class _Digest:
    """Hashes a stream of bytes while it is read."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._hash = hashlib.sha256()
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._chunks:
            self._hash.update(chunk)
            self.size += len(chunk)
            yield chunk

    def finish(self) -> None:
        for _ in self:
            pass

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()


def _counts(counted: Mapping[str, int], known: int) -> Counts:
    return Counts(
        records=sum(counted.values()),
        valid=counted["valid"],
        rejected=counted["rejected"],
        duplicates=counted["duplicate"],
        blank=counted["blank"],
        known=known,
    )
