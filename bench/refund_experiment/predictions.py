"""What the article predicted of each cell, in its own terms, and whether it held. Pure.

It predicted from documentation and said so; where its text gives no number, nothing is put into its mouth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.refund_experiment.cell import Cell

HELD, FAILED = "held", "FAILED"
VALIDATION = "IdempotencyValidationError"


@dataclass(frozen=True)
class Prediction:
    """`says`: the article's; without `holds` it says nothing that a run could refute, and `says` tells why."""

    says: str
    holds: Callable[[Cell], bool] | None = None

    def verdict(self, cell: Cell) -> str:
        if self.holds is None:
            return "-"
        return HELD if self.holds(cell) else FAILED


def _all(counts: Mapping[str, int], right: Callable[[int], bool]) -> bool:
    return all(map(right, counts.values()))


AGAIN = Prediction("runs again: two or more rows", lambda cell: _all(cell.rows, lambda count: count >= 2))
ONE = Prediction("one row", lambda cell: _all({**cell.rows, **cell.others}, lambda count: count == 1))
RAISES = Prediction(f"raises {VALIDATION}", lambda cell: set(cell.reused) == {VALIDATION})
FOUR_TWICE = Prediction("the four good records twice", lambda cell: _all(cell.others, lambda count: count == 2))
ONLY_THE_THIRD = Prediction(
    "the four good ones once; record 3 may be twice", lambda cell: _all(cell.others, lambda count: count == 1)
)
UNSAID = Prediction("not said in words")
BY_TIMING = Prediction("not to be told from the docs: in progress, or answered, by timing")
OURS = Prediction("ours is not in the article")

_PREDICTED: Mapping[tuple[str, str], Prediction] = {
    ("2", "raise"): AGAIN,
    ("2", "sleep"): AGAIN,
    ("2", "workflow"): BY_TIMING,
    ("2", "mcp"): BY_TIMING,
    ("1", "batch-whole"): FOUR_TWICE,
    ("1", "batch-loop"): FOUR_TWICE,
    ("2", "batch-partial"): ONLY_THE_THIRD,
    ("2", "batch-whole"): ONLY_THE_THIRD,
    ("2", "batch-loop"): ONLY_THE_THIRD,
}
_OF_VARIANT: Mapping[str, Prediction] = {"1": UNSAID, "3": ONE, "4": RAISES, "5": OURS, "5s": OURS}


def predicted(cell: Cell) -> Prediction:
    """By variant and injection, else by variant alone."""
    variant = cell.variant.name
    return _PREDICTED.get((variant, cell.injection.name)) or _OF_VARIANT[variant]
