"""Publishing killed, and run beside itself, at every point."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from functions.crash_points import Killed, armed
from functions.uploads.keys import record_id
from tests.unit.intake_world import World, world
from tests.unit.publishing_world import ANSWER, MIXED, assert_all_rows_are_on_their_way, finish


@pytest.fixture
def w() -> Iterator[World]:
    with world() as made:
        yield made


# --- killed, and run beside each other, at every point -------------------------------------------------------------

KNOWN_ROW = 4


def scene(w: World) -> dict[str, Any]:
    """A file of 390 records, 130 of them valid, one of those known: two requests and one item."""
    task = w.intake.admission._task
    fields = {"email": "p2@example.com", "name": "Person 2", "company": "Firm"}
    w.store(record_id(task.name, task.key(fields)), ANSWER, paid_attempts=1, origin="another-upload/1")
    return w.put(MIXED)


def points_of_a_run() -> list[tuple[str, int]]:
    """Every crash point that a run reaches, and which arrival at it: first, and last."""
    arrivals: list[str] = []
    with world() as w, armed(arrivals.append):
        w.deliver(scene(w))
    return sorted({(point, nth) for point, count in Counter(arrivals).items() for nth in (1, count)})


POINTS = points_of_a_run()
LAST_ARRIVALS = dict(POINTS)
PUBLISHING = [(p, n) for p, n in LAST_ARRIVALS.items() if not p.startswith(("uploads.begin_object", "intake.source"))]


def at(point: str, nth: int, action: Any) -> Any:
    # Points are reached by several threads at once; taking the next number is one step.
    arrivals = itertools.count(1)

    def hook(reached: str) -> None:
        if reached == point and next(arrivals) == nth:
            action()

    return hook


def die() -> None:
    raise Killed


def test_the_points_cover_every_outside_call() -> None:
    calls = {point.rsplit(".", 1)[0] for point, _ in POINTS}
    assert calls == {
        "effects.read_many",
        "events.put_events",
        "intake.source_open",
        "intake.source_read",
        "uploads.admit",
        "uploads.advance_checkpoint",
        "uploads.begin_object",
        "uploads.leave_publishing",
        "uploads.put_row",
    }


@pytest.mark.parametrize(("point", "nth"), POINTS)
def test_killed_anywhere_and_delivered_again_every_row_is_on_its_way_once(w: World, point: str, nth: int) -> None:
    event = scene(w)
    with armed(at(point, nth, die)), pytest.raises(Killed):
        w.deliver(event)
    w.now += 902
    w.deliver(event)
    finish(w)
    upload = w.upload_of(event)
    assert upload.counts.valid == 130
    assert_all_rows_are_on_their_way(w, upload, list(range(1, 391, 3)))
    assert [item.row_number for item in w.rows(upload.upload_id)] == [KNOWN_ROW]
    assert max(w.bus.sent.values()) <= 2, "more than the requests that were under way was sent again"
    assert w.topic.messages == []


@pytest.mark.parametrize(("point", "nth"), [(point, nth) for point, nth in POINTS if nth == 1])
def test_a_duplicate_of_the_event_at_any_moment_changes_nothing(w: World, point: str, nth: int) -> None:
    event = scene(w)
    with armed(at(point, nth, lambda: w.deliver(event))):
        w.deliver(event)
    upload = w.upload_of(event)
    assert_all_rows_are_on_their_way(w, upload, list(range(1, 391, 3)))
    assert set(w.bus.sent.values()) == {1}
    assert w.object_of(event).first
    assert len(list(w.table.open_uploads())) == 1


@pytest.mark.parametrize(("point", "nth"), PUBLISHING)
def test_a_second_publisher_beside_the_first_at_any_moment_loses_nothing(w: World, point: str, nth: int) -> None:
    """The lease ran out though its holder lives, as after a frozen sandbox: both publish, under the same ids."""
    event = scene(w)

    def second() -> None:
        w.now += 902
        w.tick()

    with armed(at(point, nth, second)):
        w.deliver(event)
    w.now += 902
    finish(w)
    upload = w.upload_of(event)
    assert_all_rows_are_on_their_way(w, upload, list(range(1, 391, 3)))
    assert [item.row_number for item in w.rows(upload.upload_id)] == [KNOWN_ROW]
