"""`python -m bench.guarantees`: writes the generated parts of docs/guarantees.md, each between its markers."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from bench.child import ROOT
from bench.mutants import BAR, SCORE, Score
from functions.effects.states import MOVES, Move
from stacks.retries import retries_table
from stacks.retries_document import default_retries

DOCUMENT = ROOT / "docs" / "guarantees.md"


class MarkerError(ValueError):
    """The document has no place for a generated part."""


def states() -> str:
    """The table of moves, a row a line of `functions/effects/states.MOVES`."""
    rows = [f"| {' | '.join(_cells(move))} |" for move in MOVES]
    return "\n".join(
        ["| from | event | to | conditions of the write | paid attempts |", "|---|---|---|---|---|", *rows]
    )


def _cells(move: Move) -> list[str]:
    guards = ", ".join(sorted(move.guards)) or "none further"
    who = ", with actor and reason" if move.operator else ""
    paid = "as the outcome says" if move.paid is None else f"{move.paid:+d}" if move.paid else "–"
    return [move.start, f"{move.event}{who}", move.end, guards, paid]


def mutants(score: Score | None = None) -> str:
    """What came of the last `make mutants`."""
    score = score or Score(**json.loads(SCORE.read_text()))
    return (
        f"{score.on}: {score.mutants} mutants of `functions/effects`, {score.killed} killed, "
        f"{score.survived} survived, {score.equivalent} listed as equivalent: "
        f"{score.percent:.1f} % of the others (bar {BAR:.0f} %)."
    )


def written(text: str, parts: Mapping[str, str]) -> str:
    """The document with these parts in the places of their names. Raises MarkerError where one has no place."""
    for name, part in parts.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, found, rest = text.partition(begin)
        if not found or end not in rest:
            raise MarkerError(f"docs/guarantees.md has no «{begin.strip()}» with a «{end}» behind it; put them back")
        text = before + begin + part + "\n" + rest[rest.index(end) :]
    return text


def main() -> int:
    parts = {"states": states(), "retries": retries_table(default_retries()).rstrip()}
    if SCORE.exists():
        parts["mutants"] = mutants()
    else:
        sys.stderr.write("there is no score of the mutants yet, so its part stays as it is: make mutants\n")
    DOCUMENT.write_text(written(DOCUMENT.read_text(), parts))
    sys.stdout.write(f"written: {DOCUMENT.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
