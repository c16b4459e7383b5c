"""The lines of the fault matrix are runnable: what they inject is understood, and their timers are allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.matrix.faults import faults
from bench.matrix.ground import options_of, reversed_rows, rows_of
from bench.matrix.ours import NAMES, POINTS
from local.faults.request_hook import SENT
from stacks.settings import read_settings

LINES = faults()
FUNCTIONS = Path(__file__).parents[2] / "functions"


def test_every_line_has_a_name_of_its_own() -> None:
    assert len({line.name for line in LINES}) == len(LINES)


@pytest.mark.parametrize("number", range(len(LINES)), ids=[line.name for line in LINES])
@pytest.mark.parametrize("pace", [1, 2.5, 100])
def test_a_line_can_be_started_at_any_pace(number: int, pace: float) -> None:
    line = faults(pace)[number]
    options = options_of(line, names=NAMES, hooks=["h"], points=POINTS)
    server = options.server_settings()
    settings = read_settings(options.stack_context().get, {})
    assert settings.model_deadline_s == 3 * pace
    assert settings.model_deadline_s + 2 < settings.classify_timeout_s
    assert (len(server.claude_script), len(server.service_faults)) == (len(line.claude), len(line.aws))
    assert "<" not in str(server.service_faults)
    assert (server.handler_faults is None) == (line.handler is None)


def test_a_request_under_way_ends_as_nothing_can_catch_it() -> None:
    plans = {
        line.name: options_of(line, names=NAMES, hooks=["h"], points=POINTS).handler_faults
        for line in LINES
        if line.handler
    }
    ends = {
        name: (fault.point, fault.does, fault.times) for name, plan in plans.items() if plan for fault in plan.faults
    }
    assert ends["raise-sent"] == (SENT, "abort", 10)
    assert ends["raise-answered"] == (POINTS["answered"], "raise", 10)
    assert ends["sleep-sent"] == (SENT, "sleep", 2)


def test_our_points_are_crash_points_of_the_code() -> None:
    code = "\n".join(path.read_text() for path in FUNCTIONS.rglob("*.py"))
    for point in POINTS.values():
        assert f'crossing("{point.rpartition(".")[0]}")' in code
        assert point.endswith((".before", ".after"))


def test_the_reversed_file_holds_the_same_rows() -> None:
    text = rows_of(LINES[0])
    header, *rows = text.splitlines()
    assert reversed_rows(text).splitlines() == [header, *reversed(rows)]
