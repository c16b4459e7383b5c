"""What a tick counts for dashboards and alarms: each end, pause and swept row once, however often it is looked at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from moto import mock_aws

from functions.finish import counting
from tests.unit.finish_world import World, a_row

ENDED = (a_row(1), a_row(6))


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield World()


def test_an_end_is_counted_once(world: World) -> None:
    world.admit()
    world.end_rows(*ENDED, a_row(5))
    world.ticks(3)
    assert world.counted == {counting.FINISHED: 1}


def test_a_pause_is_counted_when_it_is_told(world: World) -> None:
    world.admit()
    world.table.pause(world.upload(), "llm_key_refused")
    world.ticks(3)
    assert world.counted == {counting.PAUSED: 1}


def test_a_row_is_counted_each_time_it_is_published_again_and_once_when_it_is_given_up(world: World) -> None:
    world.admit()
    world.end_rows(*ENDED)
    for _ in range(4):
        world.until_swept()
    assert world.counted == {counting.SWEPT: 3, counting.GIVEN_UP: 1}
