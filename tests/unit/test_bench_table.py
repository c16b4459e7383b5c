"""The table of bars: what holds, what fails, what is only compared; and what the soak judges by."""

from __future__ import annotations

import csv

import pytest

from bench.bars import Line, all_held, rendered
from bench.leads import leads
from bench.processes import Memory
from bench.soak import FLAT_MIB, Soaked


@pytest.mark.parametrize(("value", "held"), [(14.9, True), (15.0, True), (15.1, False)])
def test_a_bar_is_the_most_a_value_may_be(value: float, held: bool) -> None:
    line = Line("admission", value, "×", 15.0)
    assert (line.held, line.verdict) == (held, "pass" if held else "FAIL")
    assert all_held([line, Line("peer", 99.0)]) is held


def test_a_line_shows_its_value_its_bar_and_its_note() -> None:
    text = rendered(Line("admission", 13.5, "×", 15.0, "9 s"))
    assert text.split() == ["pass", "admission", "13.5", "×", "≤", "15", "9", "s"]
    assert rendered(Line("peer", 40.0, "×")).split() == ["peer", "40", "×"]


def test_generated_files_are_whole_and_every_address_is_another() -> None:
    rows = list(csv.DictReader("".join(leads(10_001)).splitlines()))
    assert len({row["email"] for row in rows}) == len(rows) == 10_001
    assert "".join(leads(3)) == "".join(leads(3))


def test_the_slope_is_of_the_second_half_of_the_rows() -> None:
    memory = Memory()
    for rows in range(0, 10_001, 500):
        memory.note(rows, {"warm": min(rows, 5_000) / 100, "leak": 0.002 * rows})
    assert memory.slope("warm") == pytest.approx(0.0)
    assert memory.slope("leak") == pytest.approx(2.0)
    assert (memory.slope("absent"), memory.peak("leak")) == (0.0, pytest.approx(20.0))


def test_a_soak_names_everything_that_did_not_hold() -> None:
    good = {"rows": 9_000, "terminal": 9_000, "classified": 9_000, "model_requests": 9_000, "row_numbers_once": True}
    assert Soaked(**good, kills_wanted=1, kills_at=[7]).faults == []
    bad = good | {"terminal": 8_999, "model_requests": 9_001, "row_numbers_once": False}
    soaked = Soaked(**bad, kills_wanted=1, dead_letters=2, slopes={"classify": FLAT_MIB + 1})
    assert soaked.duplicates == 1
    assert len(soaked.faults) == 6
