"""The experiment as lines of text and as a table for the docs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.refund_experiment.cell import Cell
from bench.refund_experiment.predictions import FAILED, HELD, predicted

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
    """The two tables of docs/refunds.md: what was counted, and what became of the predictions."""
    variants = list(dict.fromkeys(cell.variant for cell in cells))
    found = {(cell.injection, cell.variant): cell for cell in cells}
    yield f"| injection | {' | '.join(variant.name for variant in variants)} |"
    yield f"|{'---|' * (1 + len(variants))}"
    for injection in dict.fromkeys(cell.injection for cell in cells):
        counted = [_counted(found.get((injection, variant))) for variant in variants]
        yield f"| {injection.name}: {injection.says} | {' | '.join(counted)} |"
    yield ""
    yield "| variant | predicted | held | did not |"
    yield "|---|---|---|---|"
    for (variant_name, says), verdicts in _by_prediction(cells).items():
        held, failed = (", ".join(verdicts[verdict]) for verdict in (HELD, FAILED))
        yield f"| {variant_name} | {says} | {held} | {failed} |"


def _counted(cell: Cell | None) -> str:
    if cell is None:
        return ""
    others = f", the others {_numbers(cell.others)}" if cell.others else ""
    reused = f"; {', '.join(f'`{error}`' if error else 'accepted' for error in sorted(cell.reused))}"
    return f"{_numbers(cell.rows)}{others}{reused if cell.reused else ''}"


def _numbers(rows: Mapping[str, int]) -> str:
    return " or ".join(str(count) for count in sorted(set(rows.values())))


def _by_prediction(cells: Sequence[Cell]) -> Mapping[tuple[str, str], Mapping[str, list[str]]]:
    """Names of injections by variant, prediction and verdict; where nothing was predicted there is no line."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for cell in cells:
        prediction = predicted(cell)
        if prediction.holds is not None:
            verdicts = found.setdefault((cell.variant.name, prediction.says), {HELD: [], FAILED: []})
            verdicts[prediction.verdict(cell)].append(cell.injection.name)
    return found


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
