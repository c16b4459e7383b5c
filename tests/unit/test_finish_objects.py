"""Object versions whose event was lost, or at which intake died, are given to intake again; all others are not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from functions.crash_points import Killed, armed, kill_at
from functions.intake.source import ObjectVersion, named_object
from tests.unit.finish_world import BUCKET, World

DAY_S = 86_400
POINTS = [f"finish.{call}.{moment}" for call in ("list_versions", "ask_intake") for moment in ("before", "after")]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        made = World()
        # S3 stamps a version with the real time.
        made.now = time.time() + 1_000
        yield made


def put(world: World, key: str, body: bytes = b"name,email\n") -> str:
    version: str = world.s3.put_object(Bucket=BUCKET, Key=key, Body=body)["VersionId"]
    return version


def asked(world: World) -> list[ObjectVersion]:
    """What intake was asked to take in, as intake reads it."""
    named = [named_object(payload) for payload in world.intake.payloads]
    assert None not in named
    return [version for version in named if version]


def test_every_version_without_an_item_is_given_to_intake_under_its_exact_name(world: World) -> None:
    first = put(world, "uploads/Q4 leads (EU)+é%2B.csv", b"1")
    second = put(world, "uploads/Q4 leads (EU)+é%2B.csv", b"22")
    assert world.tick() == {"asked_intake": 2}
    key = "uploads/Q4 leads (EU)+é%2B.csv"
    assert sorted(asked(world), key=lambda found: found.size) == [
        ObjectVersion(BUCKET, key, first, 1),
        ObjectVersion(BUCKET, key, second, 2),
    ]


def test_what_is_settled_young_old_or_no_upload_is_left_alone(world: World) -> None:
    world.table.begin_object("uploads/refused.csv", put(world, "uploads/refused.csv"), 11)
    refused = world.intake.payloads
    version = put(world, "uploads/settled.csv")
    world.table.begin_object("uploads/settled.csv", version, 11)
    world.table.refuse_object("uploads/settled.csv", version, "not_csv", "This is a PDF.")
    put(world, "uploads/2026/", b"")
    put(world, "uploads/marker", b"")
    put(world, "results/u-1/a.csv")
    world.now -= 800
    assert world.tick() == {}
    world.now += 15 * DAY_S
    assert world.tick() == {}
    assert refused == []


def test_a_removed_object_is_no_upload_but_an_empty_csv_is_one(world: World) -> None:
    put(world, "uploads/removed.csv")
    world.s3.delete_object(Bucket=BUCKET, Key="uploads/removed.csv")
    put(world, "uploads/empty.csv", b"")
    world.tick()
    assert {version.key for version in asked(world)} == {"uploads/empty.csv", "uploads/removed.csv"}


def test_an_intake_that_died_is_asked_again_once_its_timeout_is_over(world: World) -> None:
    version = put(world, "uploads/a.csv")
    world.table.begin_object("uploads/a.csv", version, 11)
    assert world.tick() == {}
    world.now += 901
    assert world.tick() == {"asked_intake": 1}
    # What asking comes to is intake's: it counts the attempt.
    world.table.begin_object("uploads/a.csv", version, 11)
    world.now += 890
    assert world.tick() == {}


def test_the_versions_are_compared_once_a_period_by_one_tick(world: World) -> None:
    put(world, "uploads/a.csv")
    seconds: list[dict[str, int]] = []

    def hook(reached: str) -> None:
        if reached == "finish.list_versions.before" and not seconds:
            seconds.append({})
            seconds[0] = world.tick()

    with armed(hook):
        assert world.tick() == {"asked_intake": 1}
    assert seconds == [{}]
    world.now += 839
    assert world.tick() == {}
    world.now += 62
    assert world.tick() == {"asked_intake": 1}


@pytest.mark.parametrize("point", POINTS)
def test_a_tick_killed_while_it_compares_is_repaired_by_the_next(world: World, point: str) -> None:
    put(world, "uploads/a.csv")
    with armed(kill_at(point)), pytest.raises(Killed):
        world.tick()
    world.now += 61
    world.tick()
    assert {version.key for version in asked(world)} == {"uploads/a.csv"}


def test_a_comparison_that_runs_out_of_time_goes_on_behind_the_page_it_read(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        put(world, f"uploads/{number}.csv")
    real = world.s3.list_object_versions
    monkeypatch.setattr(world.s3, "list_object_versions", lambda **request: real(MaxKeys=2, **request))
    for _ in range(3):
        world.tick(lasting_s=5)
        world.now += 60
    assert sorted(version.key for version in asked(world)) == [f"uploads/{number}.csv" for number in range(5)]


def test_objects_that_cannot_be_listed_are_an_error_that_keeps_no_upload_from_its_end(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.admit(b"name,email\nA,nowhere\n")

    def refuse(**_: Any) -> None:
        raise PermissionError

    monkeypatch.setattr(world.s3, "list_object_versions", refuse)
    with pytest.raises(Exception, match="the objects"):
        world.tick()
    assert world.upload().state == "done"
