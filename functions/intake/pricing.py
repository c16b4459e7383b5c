"""What a file may cost at most: every attempt that is left for every row that is not answered yet. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from functions.classify.prices import worst_case_microusd

if TYPE_CHECKING:
    from functions.classify.task import Task
    from functions.effects.record import EffectRecord
    from functions.intake.questions import Question

_REMEMBERED_BYTES = 8_192


class Pricing:
    """Adds up `known` rows (answered from the store, free) and the worst case of the rest, in micro-dollars."""

    def __init__(self, task: Task, max_paid_attempts: int) -> None:
        self._task = task
        self._max_paid_attempts = max_paid_attempts
        self._by_size: dict[int, int] = {}
        self.known = 0
        self.worst_case_microusd = 0

    def add(self, questions: Iterable[Question], records: Mapping[str, EffectRecord]) -> None:
        """Count questions together with what is stored of them, by effect id."""
        for question in questions:
            if not question.key:
                continue
            # Of a new file nothing is stored, and a million rows come by.
            attempts = self._attempts_left(records.get(question.effect_id)) if records else self._max_paid_attempts
            if attempts is None:
                self.known += 1
            else:
                price = self._by_size.get(question.shown_bytes)
                self.worst_case_microusd += attempts * (self._price(question) if price is None else price)

    def _price(self, question: Question) -> int:
        # Of one task, the worst case depends on nothing but how many bytes are shown.
        price = worst_case_microusd(self._task, self._task.rendered(question.fields))
        if question.shown_bytes <= _REMEMBERED_BYTES:
            self._by_size[question.shown_bytes] = price
        return price

    def _attempts_left(self, record: EffectRecord | None) -> int | None:
        """Attempts that may still be billed; None when the answer is stored."""
        if record is None:
            return self._max_paid_attempts
        if record.final_without_request(self._max_paid_attempts):
            return None
        return max(0, self._max_paid_attempts + record.ordered_attempts - record.paid_attempts)
