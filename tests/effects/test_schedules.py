"""A small file on its whole way, and every crash point of that way: killed, beside itself, both, and late."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.effects.account import on_moto
from tests.effects.explored import explored
from tests.effects.scenarios import EVERY_ROAD
from tests.effects.schedules import Explorer, Mode


@pytest.fixture(scope="module")
def explorer() -> Iterator[Explorer]:
    with on_moto():
        yield Explorer(EVERY_ROAD)


@pytest.mark.parametrize("mode", Mode)
def test_whatever_happens_at_any_point_each_row_is_paid_and_ended_once(
    explorer: Explorer, mode: Mode, request: pytest.FixtureRequest
) -> None:
    arrivals = explorer.chosen(every=request.config.getoption("explore") == "all")
    explorer.run_all(arrivals, mode)
    explored("schedules", len(arrivals))
    explored("arrivals at crash points", len(arrivals) if mode is Mode.KILLED else 0)
