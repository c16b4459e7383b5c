"""Keys and prices made row by row are exactly those that the task defines."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.classify.prices import worst_case_microusd
from functions.classify.task import Task, build_task
from functions.effects.outcomes import Outcome
from functions.effects.record import EffectRecord
from functions.effects.states import State
from functions.intake.pricing import Pricing
from functions.intake.questions import Question, Questions, batches
from functions.intake.validation import Record
from functions.settings import TaskSettings
from functions.uploads.keys import record_id

TASK = build_task(TaskSettings())
COLUMNS = (*TASK.columns, "phone", "Title ", 'né\u0000 "x"')
texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)
fields = st.dictionaries(st.sampled_from(COLUMNS), texts | st.sampled_from(["<>&", '"\\', "\x00\x1f\x7f\u2028"]))


def question(values: Mapping[str, str], task: Task = TASK, number: int = 1) -> Question:
    return Questions(task).of(Record(number, number + 1, "valid", (), fields=dict(values)))


@given(fields, st.sets(st.sampled_from(COLUMNS), min_size=1))
def test_the_key_is_the_tasks_key_whatever_is_shown(values: dict[str, str], columns: set[str]) -> None:
    task = Task(model=TASK.model, max_tokens=64, columns=tuple(columns))
    asked = question(values, task)
    if not task.rendered(values):
        assert (asked.key, asked.effect_id, asked.shown_bytes) == ("", "", 0)
        return
    assert asked.key == task.key(values)
    assert asked.effect_id == record_id(task.name, asked.key)


@given(st.lists(fields | st.integers(1, 40_000).map(lambda n: {"notes": "<&>" * n}), max_size=12))
def test_the_price_is_the_sum_of_every_rows_own_worst_case(rows: list[dict[str, str]]) -> None:
    pricing = Pricing(TASK, 1)
    pricing.add([question(values) for values in rows], {})
    shown = [rendered for values in rows if (rendered := TASK.rendered(values))]
    assert pricing.worst_case_microusd == sum(worst_case_microusd(TASK, rendered) for rendered in shown)
    assert pricing.known == 0


def stored(state: State, outcome: Outcome | None = None, **values: int) -> EffectRecord:
    return EffectRecord(id="x", state=state, attempt=1, payload_hash="h", outcome=outcome, **values)


DOUBT = Outcome.unknown("llm_timeout_outcome_unknown")


@pytest.mark.parametrize(
    ("record", "attempts", "known"),
    [
        (None, 2, 0),
        (stored(State.CLAIMED), 2, 0),
        (stored(State.RELEASED, paid_attempts=1), 1, 0),
        (stored(State.UNKNOWN, DOUBT, paid_attempts=1), 1, 0),
        (stored(State.UNKNOWN, DOUBT, paid_attempts=2), 0, 1),
        (stored(State.UNKNOWN, DOUBT, paid_attempts=2, ordered_attempts=1), 1, 0),
        (stored(State.CLAIMED, paid_attempts=3), 0, 0),
        (stored(State.DONE, Outcome.failed("llm_refused", paid=True), paid_attempts=1), 0, 1),
    ],
)
def test_a_row_is_priced_by_the_attempts_that_are_left(record: EffectRecord | None, attempts: int, known: int) -> None:
    values = {"email": "a@example.com"}
    asked = question(values)
    pricing = Pricing(TASK, 2)
    pricing.add([asked], {asked.effect_id: record} if record else {})
    assert pricing.worst_case_microusd == attempts * worst_case_microusd(TASK, values)
    assert pricing.known == known


@given(st.lists(st.integers()), st.integers(1, 7))
def test_batches_keep_order_and_lose_nothing(items: list[int], size: int) -> None:
    made = list(batches(iter(items), size))
    assert [item for batch in made for item in batch] == items
    assert all(len(batch) == size for batch in made[:-1])
    assert all(made)
