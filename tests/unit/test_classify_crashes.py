"""A kill before and after every outside call of the worker, then a redelivery: nothing paid twice, nothing lost.

What one file's way does not come by: the whole way, and all that may happen beside it, is in tests/effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from functions.crash_points import Killed, armed, kill_at
from functions.effects.states import State
from tests.unit.classify_world import (
    INVOCATION_S,
    MAX_RECEIVES,
    Aws,
    World,
    aws_on_moto,
    event,
    refused,
    someone_elses_claim,
)


@dataclass(frozen=True)
class Scenario:
    """`receives` counts the deliveries of each try; `check` says what must hold when all is over."""

    prepare: Callable[[World], None]
    check: Callable[[World], None]
    body: Any = None
    receives: tuple[int, ...] = (1, 2, 2, 2)


def model_says(*replies: Any) -> Callable[[World], None]:
    def prepare(world: World) -> None:
        world.replies = list(replies)

    return prepare


def model_always_says(reply: Any) -> Callable[[World], None]:
    def prepare(world: World) -> None:
        world.reply = lambda request: reply

    return prepare


def has_outcome(*outcomes: str) -> Callable[[World], None]:
    def check(world: World) -> None:
        row = world.row()
        assert row is not None
        assert row.outcome in outcomes

    return check


def is_dead_lettered(world: World) -> None:
    assert world.dead_letters()


def is_paused_and_waits(world: World) -> None:
    row, record = world.row(), world.record()
    # A kill between the claim and its release leaves a doubt, and nothing else is ever said of the row.
    assert (row is None and world.upload().state == "paused") or (row is not None and row.outcome == "unknown")
    assert record is not None
    assert world.billed == 0
    assert world.dead_letters() == []
    assert len(world.told()) == (world.upload().state == "paused")


def was_copied(world: World) -> None:
    assert world.row() is not None or world.waiting()["delayed"] > 0


SCENARIOS = {
    "given up": Scenario(
        model_always_says(refused(529)), has_outcome("failed", "unknown"), receives=(MAX_RECEIVES,) * 4
    ),
    "refused for the account at the last receive": Scenario(
        model_always_says(refused(401)), is_paused_and_waits, receives=(MAX_RECEIVES,) * 4
    ),
    "malformed": Scenario(model_says(), is_dead_lettered, body="hello"),
    "in progress at the last receive": Scenario(
        lambda world: someone_elses_claim(world, 3 * INVOCATION_S), was_copied, receives=(MAX_RECEIVES,) * 2
    ),
}


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    with aws_on_moto() as opened:
        yield opened


def points_of(aws: Aws, scenario: Scenario) -> list[str]:
    reached: list[str] = []
    world = World(aws)
    scenario.prepare(world)
    with armed(reached.append):
        deliver_until_done(world, scenario)
    return list(dict.fromkeys(reached))


def deliver_until_done(world: World, scenario: Scenario) -> int:
    """Deliver as the queue would, until acknowledged or out of receives; a kill loses the whole answer."""
    kills = 0
    for receives in scenario.receives:
        try:
            [result] = world.deliver(event() if scenario.body is None else scenario.body, receives=receives)
        except Killed:
            kills += 1
        else:
            if result.acknowledged:
                break
        world.now += INVOCATION_S + world.settings.lease_grace_s + 1
    return kills


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_kill_anywhere_is_survived(aws: Aws, name: str) -> None:
    scenario = SCENARIOS[name]
    points = points_of(aws, scenario)
    assert points
    for point in points:
        world = World(aws)
        scenario.prepare(world)
        with armed(kill_at(point)):
            assert deliver_until_done(world, scenario) == 1, point
        record = world.record()
        assert world.billed <= 1, point
        assert record is None or record.paid_attempts >= world.billed, point
        assert record is None or record.state is not State.CLAIMED or name.startswith("in progress"), point
        scenario.check(world)
