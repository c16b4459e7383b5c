"""Every interleaving of the callers of one key keeps the promises, and together they go through the whole table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache

import pytest

from functions.effects.states import MOVES, Guard, Move

from .explored import explored
from .families import ALL, QUICK
from .turns import Exploration, Family, Found

NEVER_ALONE = {Guard.ONE_PAID, Guard.SOMETHING_PAID}
"""Guards that say again what the writer saw and nobody can change under it; `test_states` shows that they hold."""


Find = Callable[[Family], Found]


@pytest.fixture(scope="module")
def find() -> Find:
    """Explores a family, once for the tests of this module."""

    @cache
    def found(family: Family) -> Found:
        result = Exploration(family).run()
        explored("interleavings over the effect store", result.schedules)
        explored("states of the effect store between them", result.states)
        return result

    return found


@pytest.mark.parametrize("family", QUICK, ids=lambda family: family.name)
def test_every_schedule_keeps_the_promises(family: Family, find: Find) -> None:
    assert find(family).schedules > 1


@pytest.mark.parametrize("family", ALL, ids=lambda family: family.name)
def test_every_schedule_of_the_larger_families_keeps_them(
    family: Family, find: Find, request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--explore", default="") != "all":
        pytest.skip("explored with --explore=all")
    assert find(family).schedules > 1_000


def test_together_they_make_every_move_of_the_table(find: Find) -> None:
    made: Counter[Move] = Counter()
    for family in QUICK:
        made.update(find(family).moves)
    assert [move for move in MOVES if move not in made] == []


def test_together_they_meet_every_guard_that_can_refuse(find: Find) -> None:
    refused = {guard for family in QUICK for guard in find(family).refusals}
    assert refused == set(Guard) - NEVER_ALONE
