"""The sweep on moto, killed at every step and met by a second tick at every step: each row once, and one pass."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from moto import mock_aws

from functions.crash_points import Killed, armed, kill_at
from functions.effects.outcomes import Outcome
from functions.effects.states import State
from functions.uploads.keys import row_event_id
from tests.unit.finish_world import World

HOT = Outcome.succeeded({"label": "hot", "cost_microusd": 70}, model="m", request_id="req_1")


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield World()


MANY = b"name,email\n" + b"".join(b"N,n%d@example.com\n" % number for number in range(130))
POINTS = [
    f"{call}.{moment}"
    for call in (
        "finish.queue_depth",
        "effects.read_many",
        "effects.expire",
        "uploads.begin_sweep_pass",
        "uploads.note_walk",
        "events.put_events",
        "uploads.put_row",
    )
    for moment in ("before", "after")
]


def mixed(world: World) -> None:
    """130 rows: one is DONE, one expired, the rest absent; none has an item."""
    world.admit(MANY)
    world.store(7, State.DONE, HOT, csv=MANY)
    world.store(125, State.CLAIMED, csv=MANY, owner="dead", lease_until_ms=1)


@pytest.mark.parametrize("point", POINTS)
def test_a_sweep_that_is_killed_anywhere_goes_on_where_it_stopped(world: World, point: str) -> None:
    mixed(world)
    with armed(kill_at(point)), pytest.raises(Killed):
        world.until_swept(quiet_s=60)
    world.now += 61
    world.until_swept(quiet_s=60)
    assert {number: row.outcome for number, row in world.rows().items()} == {7: "classified", 125: "unknown"}
    published = world.rows_on_the_bus()
    # Each row once on the bus: a repeat carries the same id, whatever died.
    assert sorted({number for number, _ in published}) == [n for n in range(1, 131) if n not in (7, 125)]
    assert {dedup_id for _, dedup_id in published} == {row_event_id("u-1", n, 2) for n, _ in published}
    assert (world.upload().generation, world.upload().sweeps) == (2, 1)


@pytest.mark.parametrize("point", POINTS)
def test_a_second_tick_at_any_moment_of_a_sweep_sweeps_nothing(world: World, point: str) -> None:
    mixed(world)
    seconds: list[dict[str, int]] = []

    def hook(reached: str) -> None:
        if reached == point and not seconds:
            seconds.append({})
            seconds[0] = world.tick()

    with armed(hook):
        world.until_swept(quiet_s=60)
    assert seconds == [{"not_due": 1}]
    assert len(world.rows_on_the_bus()) == 128
    assert world.upload().sweeps == 1


def test_a_sweep_that_runs_out_of_time_goes_on_at_the_next_tick_without_another_pass(world: World) -> None:
    mixed(world)
    world.ticks(5)
    assert world.tick(lasting_s=5) == {"sweeping": 1}
    first = world.rows_on_the_bus()
    assert 0 < len(first) < 128
    world.now += 60
    assert world.tick() == {"swept": 1}
    assert len(world.rows_on_the_bus()) == 128
    assert len({number for number, _ in world.rows_on_the_bus()}) == 128
    assert world.upload().sweeps == 1
