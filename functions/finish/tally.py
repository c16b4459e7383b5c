"""What the rows of an upload came to, added up while they stream by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cached_property

from functions.classify.prices import worst_case_microusd
from functions.classify.task import Task
from functions.finish.rows import RowResult
from functions.uploads.model import RowCounts, RowItem, Upload

FIRST_ROWS = 10
"""How many rows without a label are named one by one; all are counted."""


class Tally:
    """Counts outcomes, money and reasons. Feed it with `of`; it keeps no more than the first few rows."""

    def __init__(self, upload: Upload) -> None:
        self._upload = upload
        self.outcomes: Counter[str] = Counter()
        self.labels: Counter[str] = Counter()
        self.reasons: Counter[tuple[str, str]] = Counter()
        """How many rows per (outcome, reason code), duplicates aside."""
        self.first_rows: list[tuple[int, int, str, str]] = []
        """(record number, line, outcome, reason code) of the first rows that got no label, duplicates aside."""
        self.known = 0
        self.cost_microusd = 0
        self.in_doubt_microusd = 0

    def of(self, results: Iterable[RowResult]) -> Iterator[RowResult]:
        """The same results, counted as they pass."""
        for result in results:
            self._add(result)
            yield result

    def _add(self, result: RowResult) -> None:
        self.outcomes[result.outcome] += 1
        if result.outcome == "classified":
            self.labels[result.label] += 1
        elif result.outcome not in ("duplicate", "open"):
            self.reasons[result.outcome, result.reason] += 1
            if len(self.first_rows) < FIRST_ROWS:
                self.first_rows.append((result.record.number, result.record.line, result.outcome, result.reason))
        if result.item is not None:
            self.known += result.item.known
            self.cost_microusd += result.item.cost_microusd
            self.in_doubt_microusd += self._in_doubt(result, result.item)

    @property
    def terminal(self) -> int:
        """Valid rows that have ended."""
        return sum(self.outcomes[outcome] for outcome in ("classified", "failed", "unknown"))

    def row_counts(self) -> RowCounts:
        return RowCounts(
            classified=self.outcomes["classified"],
            failed=self.outcomes["failed"],
            unknown=self.outcomes["unknown"],
            known=self.known,
            cost_microusd=self.cost_microusd,
            in_doubt_microusd=self.in_doubt_microusd,
        )

    def _in_doubt(self, result: RowResult, item: RowItem) -> int:
        """The most that requests for this row cost of which no answer says it: all but the one that is answered."""
        unanswered = item.paid_attempts - bool(item.cost_microusd)
        # A known row's doubt is counted where it was asked, as its cost is.
        if item.known or unanswered < 1:
            return 0
        return unanswered * worst_case_microusd(self._task, self._task.rendered(result.record.fields))

    @cached_property
    def _task(self) -> Task:
        return Task.model_validate_json(self._upload.task)
