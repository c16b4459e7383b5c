"""Money: integers, rounded up, two tiers, and an upper bound that holds."""

from __future__ import annotations

import pytest

from functions.classify.prices import PRICES, UnknownModelError, cost_microusd, worst_case_microusd
from functions.classify.task import Task, build_task
from functions.settings import TaskSettings

MODEL = "claude-haiku-5-5"


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({}, 0),
        ({"input_tokens": 1, "output_tokens": 0}, 1),
        ({"input_tokens": 10, "output_tokens": 0}, 1),
        ({"input_tokens": 11, "output_tokens": 0}, 2),
        ({"input_tokens": 1_000, "output_tokens": 10}, 105),
        ({"input_tokens": 100_000, "output_tokens": 100}, 10_050),
        ({"input_tokens": 100_001, "output_tokens": 100}, 50_251),
        ({"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 1_000}, 125),
        (
            {
                "input_tokens": 0,
                "output_tokens": 0,
                "cache_creation_input_tokens": 1_000,
                "ephemeral_1h_input_tokens": 400,
            },
            155,
        ),
        ({"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 1_000}, 10),
        # The tier counts the whole prompt, cached or not.
        ({"input_tokens": 1, "output_tokens": 0, "cache_read_input_tokens": 100_000}, 5_001),
    ],
)
def test_cost(usage: dict[str, int], cost: int) -> None:
    assert cost_microusd(MODEL, usage) == cost


def test_an_unknown_model_has_no_price() -> None:
    with pytest.raises(UnknownModelError, match="add its price, with date and source"):
        cost_microusd("claude-future-9", {"input_tokens": 1})


def test_bedrocks_spellings_are_the_same_model() -> None:
    usage = {"input_tokens": 1_000, "output_tokens": 10}
    assert {cost_microusd(f"{prefix}{MODEL}", usage) for prefix in ("", "anthropic.", "eu.anthropic.")} == {105}


def test_every_price_is_dated_and_sourced() -> None:
    assert all(price.read_on and price.source.startswith("https://") for price in PRICES.values())


@pytest.mark.parametrize("notes", ["", "short", "漢字" * 500, "x" * 120_000, "\x00" * 20_000])
def test_the_worst_case_is_never_below_the_cost_of_one_token_per_byte(notes: str) -> None:
    task = build_task(TaskSettings())
    rendered = task.rendered({"email": "a@example.com", "notes": notes})
    prompt = len(task.system.encode()) + len(task.user_block(rendered).encode())
    assert worst_case_microusd(task, rendered) >= cost_microusd(
        MODEL, {"input_tokens": prompt, "output_tokens": task.max_tokens}
    )


def test_a_longer_answer_costs_more_at_worst() -> None:
    rendered = {"email": "a@example.com"}
    short, long = (Task(model=MODEL, max_tokens=n, columns=("email",)) for n in (16, 16_000))
    assert worst_case_microusd(long, rendered) - worst_case_microusd(short, rendered) == (16_000 - 16) // 2
