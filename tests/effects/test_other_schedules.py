"""The other roads of an upload (paused, approved, retried, refused, …): the crash points that only they come by."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.effects.account import on_moto
from tests.effects.crossings import found
from tests.effects.explored import explored
from tests.effects.scenarios import SCENARIOS
from tests.effects.schedules import Arrival, Explorer, Mode
from tests.effects.test_points_of_the_core import KILLED

NOT_KILLED_HERE = {
    "uploads.get_budget": "asked by the commands alone, and reading changes nothing",
    "uploads.attention_rows": "asked by the commands alone, and reading changes nothing",
    "uploads.rows_as_they_are": "asked by the commands alone, and reading changes nothing",
    "uploads.extend": "one transaction of an operator's order, which is given again as it was",
    "uploads.begin_anew": "of an operator's order, killed before and after it in tests/unit/test_operate_resolve.py",
}
"""Crossings that no scenario comes by, each with the reason."""
KILLED_ELSEWHERE = {
    "refunds": "tests/refunds/test_crashes.py",
    "operate": "tests/unit/test_operate_resolve.py and test_operate_retry.py",
}
"""Folders that the way of a file does not come by, and where their points are killed."""


@pytest.fixture(scope="module")
def explorers() -> Iterator[dict[str, Explorer]]:
    with on_moto():
        yield {name: Explorer(scenario) for name, scenario in SCENARIOS.items()}


def own_arrivals(explorers: dict[str, Explorer], name: str) -> list[Arrival]:
    """The arrivals at points that no scenario before this one comes by."""
    names = list(SCENARIOS)
    before = {arrival.point for other in names[: names.index(name)] for arrival in explorers[other].arrivals}
    return [arrival for arrival in explorers[name].chosen() if arrival.point not in before]


@pytest.mark.parametrize("name", list(SCENARIOS)[1:])
def test_whatever_happens_at_the_points_of_this_road_it_ends_the_same(
    explorers: dict[str, Explorer], name: str, request: pytest.FixtureRequest
) -> None:
    everything = request.config.getoption("explore") == "all"
    arrivals = explorers[name].chosen(every=True) if everything else own_arrivals(explorers, name)
    for mode in Mode:
        explorers[name].run_all(arrivals, mode)
        explored("schedules", len(arrivals))
    explored("arrivals at crash points", len(arrivals))


def test_every_crash_point_of_the_code_is_killed_at_least_once(explorers: dict[str, Explorer]) -> None:
    killed = {arrival.point for explorer in explorers.values() for arrival in explorer.arrivals} | set(KILLED)
    left = {point.rpartition(".")[0] for point in found().points - killed}
    assert {name for name in left if name.partition(".")[0] not in KILLED_ELSEWHERE} == set(NOT_KILLED_HERE)
    assert killed <= found().points
    explored("crash points of the code", len(found().points))
