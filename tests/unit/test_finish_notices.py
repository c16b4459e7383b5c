"""People are told once of an upload that waits for them: why, at what price, and the command that lets it go on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from moto import mock_aws

from functions.classify.billing import PAUSES
from functions.crash_points import Killed, armed, kill_at
from functions.finish.notices import WHAT_TO_DO
from functions.uploads.model import Counts
from tests.unit.finish_world import World, a_row


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield World()


def waiting(world: World) -> None:
    counts = Counts(records=40, valid=31, rejected=5, duplicates=3, blank=1, known=11)
    world.admit(state="needs_approval", worst_case_microusd=12_345_678, counts=counts)


def test_a_paused_upload_is_told_once_with_its_reason_and_how_to_go_on(world: World) -> None:
    world.admit()
    world.table.pause(world.upload(), "llm_key_refused")
    world.ticks(3)
    [mail] = world.mails()
    assert mail["Subject"] == "Prospects paused: llm_key_refused"
    for part in ("u-1", "Reason: llm_key_refused", "put a valid one into the secret", "prospects resume u-1"):
        assert part in mail["Message"]
    assert world.still_open() == ["u-1"]
    assert world.upload().state == "paused"
    assert world.bus.entries == []


def test_each_pause_is_told(world: World) -> None:
    world.admit()
    for _ in range(2):
        world.table.pause(world.upload(), "llm_spend_limit")
        world.ticks(2)
        assert world.table.resume(world.upload(), actor="ada")
    assert len(world.mails()) == 2


def test_an_upload_that_was_resumed_before_its_pause_was_told_is_told_and_goes_on_in_one_look(world: World) -> None:
    world.admit()
    world.end_rows(a_row(1), a_row(5), a_row(6))
    world.table.pause(world.upload(), "llm_key_refused")
    world.table.resume(world.upload(), actor="ada")
    assert world.tick() == {"continued": 1}
    [mail] = world.mails()
    assert "It was resumed since." in mail["Message"]
    assert "prospects resume" not in mail["Message"]


def test_an_upload_over_a_ceiling_is_told_with_its_price_and_what_is_known(world: World) -> None:
    waiting(world)
    assert world.ticks(2) == [{"waiting": 1}, {"not_due": 1}]
    [mail] = world.mails()
    assert mail["Subject"] == "Prospects need approval: at most 12.345678 USD"
    for part in ("at most 12.345678 USD", "31 are valid", "at cost 0: 11", "asked: 20", "prospects approve u-1"):
        assert part in mail["Message"]
    assert "max_upload_microusd" in mail["Message"]
    assert world.still_open() == ["u-1"]


@pytest.mark.parametrize(
    "point", ["finish.notify.before", "finish.notify.after", "uploads.announced.before", "uploads.announced.after"]
)
def test_a_tick_killed_while_it_tells_is_repaired_by_the_next(world: World, point: str) -> None:
    waiting(world)
    with armed(kill_at(point)), pytest.raises(Killed):
        world.tick()
    world.now += 61
    world.ticks(2)
    assert len(world.mails()) == (2 if point in ("finish.notify.after", "uploads.announced.before") else 1)


def test_there_is_an_advice_for_every_reason_that_pauses() -> None:
    assert WHAT_TO_DO.keys() == PAUSES


def test_a_summary_says_how_to_fetch_the_results(world: World) -> None:
    world.admit()
    world.end_rows(a_row(1), a_row(5), a_row(6))
    world.tick()
    [mail] = world.mails()
    assert "Results: s3://" in mail["Message"]
    assert "prospects results u-1" in mail["Message"]
