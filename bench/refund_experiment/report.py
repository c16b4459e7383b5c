"""The experiment as lines of text and as a table for the docs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bench.refund_experiment.cell import Cell
from bench.refund_experiment.predictions import predicted

HEADER = f"{'injection':<48}{'variant':<9}{'side effects a request':<42}{'pass':<6}{'held':<8}predicted; another amount"


def rendered(cell: Cell) -> str:
    """One line."""
    prediction = predicted(cell)
    reused = f"; {_errors(cell)}" if cell.reused else ""
    return (
        f"{cell.injection.says:<48}{cell.variant.name:<9}{cell.effects:<42}{_passed(cell):<6}"
        f"{prediction.verdict(cell):<8}{prediction.says}{reused}"
    )


def markdown(cells: Sequence[Cell]) -> Iterator[str]:
    """The table of docs/refunds.md."""
    yield "| injection | variant | side effects a request_id | pass | predicted | held |"
    yield "|---|---|---|---|---|---|"
    for cell in cells:
        prediction = predicted(cell)
        reused = f"; another amount: {_errors(cell)}" if cell.reused else ""
        yield (
            f"| {cell.injection.name} | {cell.variant.name} | {cell.effects}{reused} | {_passed(cell)} "
            f"| {prediction.says} | {prediction.verdict(cell)} |"
        )


def to_json(cell: Cell) -> dict[str, Any]:
    prediction = predicted(cell)
    return {**cell.to_json(), "predicted": prediction.says, "held": prediction.verdict(cell)}


def broken(cells: Sequence[Cell]) -> list[str]:
    """What did not hold of ours, a sentence each."""
    return [
        sentence
        for cell in cells
        if cell.variant.tool.is_ours and not cell.passed
        for sentence in (
            *([f"{cell.injection.name}, {cell.variant.name}: {cell.effects} side effects a request; {_errors(cell)}"]),
            *cell.amiss,
        )
    ]


def _errors(cell: Cell) -> str:
    return ", ".join(f"{error or 'accepted'} x {number}" for error, number in sorted(cell.reused.items()))


def _passed(cell: Cell) -> str:
    return "yes" if cell.passed else "no"
