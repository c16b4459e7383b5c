"""The generated parts of docs/guarantees.md are what the code says, and its score is counted as it says."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from bench.child import ROOT
from bench.guarantees import DOCUMENT, MarkerError, mutants, states, written
from bench.mutants import EQUIVALENT, Change, Score, change_of, equivalents, score_of
from functions.effects.states import MOVES

A = Change("functions.effects.x", "a", "b")
B = replace(A, becomes="c")
LINK = re.compile(r"\]\(([^)#]+)")


def test_the_document_holds_the_table_of_moves() -> None:
    text = DOCUMENT.read_text()
    assert written(text, {"states": states()}) == text, "write it anew: make guarantees"
    assert len(states().splitlines()) == len(MOVES) + 2


def test_every_file_that_it_names_is_there() -> None:
    links = LINK.findall(DOCUMENT.read_text())
    assert links
    assert [link for link in links if not (DOCUMENT.parent / link).exists()] == []


def test_a_part_without_a_place_is_refused() -> None:
    with pytest.raises(MarkerError, match="put them back"):
        written("<!-- states -->\n", {"states": "a table"})
    assert written("<!-- a -->\nold\n<!-- /a -->\n", {"a": "new"}) == "<!-- a -->\nnew\n<!-- /a -->\n"


def test_only_mutants_that_live_and_are_listed_count_as_equivalent() -> None:
    score = score_of({"m1": 1, "m2": 0, "m3": 33, "m4": 36}, alive=[A, B], listed=[A], on="2026-11-30")
    assert score == Score("2026-11-30", mutants=4, killed=2, equivalent=1, survived=1)
    assert score.percent == pytest.approx(100 * 2 / 3)
    assert "66.7 % of the others" in mutants(score)


def test_a_mutant_is_known_by_what_it_changes() -> None:
    diff = "--- a.py\n+++ a.py\n@@ -1 +1 @@\n def f():\n-    return a\n+    return b\n"
    assert change_of("functions.effects.x_f__mutmut_12", diff) == Change(
        "functions.effects.x_f", "return a", "return b"
    )


def test_every_equivalent_mutant_has_a_reason_and_a_line_that_is_there() -> None:
    listed = equivalents()
    assert len(listed) == len(json.loads(EQUIVALENT.read_text()))
    sources = "\n".join(path.read_text() for path in (ROOT / "functions" / "effects").glob("*.py"))
    assert [change for change in listed if change.was.splitlines()[0] not in sources] == []
    assert all(len(reason) > 20 for reason in listed.values())
