"""What a request costs: integer micro-dollars from a dated table. Pure.

Source: https://platform.claude.com/docs/en/models/haiku-5-5/overview, read 2026-11-29. Anthropic's list prices;
Amazon Bedrock bills by its own list, so there the sums are an estimate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from functions.classify.task import Task

PER = 1_000_000
"""Prices are micro-dollars for this many tokens: $0.10 per million tokens is 100,000."""

FRAME_TOKENS = 1_024
"""Input tokens the API may add around ours for the message frame and the output schema. Deliberately generous."""


class UnknownModelError(ValueError):
    """The model has no price here; the message says what to do."""


@dataclass(frozen=True)
class Rates:
    """Micro-dollars per million tokens."""

    input: int
    output: int
    cache_write_5m: int
    cache_write_1h: int
    cache_read: int


@dataclass(frozen=True)
class Price:
    """`up_to_tokens` is the largest prompt (input, cache writes and cache reads together) at the `small` rates."""

    small: Rates
    large: Rates
    up_to_tokens: int
    read_on: str
    source: str

    def rates(self, prompt_tokens: int) -> Rates:
        return self.small if prompt_tokens <= self.up_to_tokens else self.large


PRICES: Mapping[str, Price] = {
    "claude-haiku-5-5": Price(
        small=Rates(input=100_000, output=500_000, cache_write_5m=125_000, cache_write_1h=200_000, cache_read=10_000),
        large=Rates(
            input=500_000, output=2_500_000, cache_write_5m=625_000, cache_write_1h=1_000_000, cache_read=50_000
        ),
        up_to_tokens=100_000,
        read_on="2026-11-29",
        source="https://platform.claude.com/docs/en/models/haiku-5-5/overview",
    ),
}


def price_of(model: str) -> Price:
    """The price of a model by its id, Bedrock's spelling of it included. Raises UnknownModelError for any other."""
    # Bedrock puts `anthropic.`, or a group of Regions and that, before the same id.
    name = model.rpartition("anthropic.")[2]
    if name not in PRICES:
        known = ", ".join(sorted(PRICES))
        raise UnknownModelError(
            f"no price is known for the model {model!r}; use one of {known}, or add its price, with date and source, "
            "to functions/classify/prices.py"
        )
    return PRICES[name]


def cost_microusd(model: str, usage: Mapping[str, int]) -> int:
    """What the API's `usage` (token counts by its own names) costs, rounded up."""
    written = usage.get("cache_creation_input_tokens", 0)
    # Without a breakdown a cache write is a 5-minute one; the two are never counted twice.
    written_1h = min(written, usage.get("ephemeral_1h_input_tokens", 0))
    read = usage.get("cache_read_input_tokens", 0)
    plain = usage.get("input_tokens", 0)
    rates = price_of(model).rates(plain + written + read)
    return _rounded_up(
        plain * rates.input
        + (written - written_1h) * rates.cache_write_5m
        + written_1h * rates.cache_write_1h
        + read * rates.cache_read
        + usage.get("output_tokens", 0) * rates.output
    )


def worst_case_microusd(task: Task, rendered: Mapping[str, str]) -> int:
    """An upper bound for one request: a token is at least one byte of UTF-8, and the answer uses up `max_tokens`."""
    texts = (task.system, task.user_block(rendered), str(task.output_schema))
    prompt = sum(len(text.encode()) for text in texts) + FRAME_TOKENS
    rates = price_of(task.model).rates(prompt)
    return _rounded_up(prompt * rates.input + task.max_tokens * rates.output)


def _rounded_up(product: int) -> int:
    return -(-product // PER)
