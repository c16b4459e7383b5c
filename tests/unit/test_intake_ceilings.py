"""Ceilings at admission: what would cost too much waits, reserves and publishes nothing, and is told once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from functions.clock import Clock
from functions.crash_points import Killed, armed, kill_at
from functions.effects.outcomes import Outcome
from functions.settings import IntakeSettings, SettingsError
from functions.uploads.budget import budget_day
from functions.uploads.model import Announcement
from tests.unit.intake_world import World, csv, world
from tests.unit.test_intake_publish import effect_id

ANSWER = Outcome(kind="succeeded", paid=True, result={"label": "hot", "cost_microusd": 40}, audit={"model": "m"})


@pytest.fixture
def w() -> Iterator[World]:
    with world() as made:
        yield made


@pytest.fixture
def price(w: World) -> int:
    """The worst case of a file of two rows, whose numbers have one digit."""
    return w.submit(csv(2, start=8), "uploads/priced.csv").worst_case_microusd


def committed(w: World, clock: Clock | None = None) -> int:
    return w.table.get_budget(budget_day(clock() if clock else w.now)).committed_microusd


def test_what_runs_has_its_worst_case_reserved_on_the_day_of_its_admission(w: World) -> None:
    upload = w.submit(csv(2))
    assert (upload.budget_day, upload.reserved_microusd) == (budget_day(w.now), upload.worst_case_microusd)
    assert committed(w) == upload.worst_case_microusd > 0


def test_an_upload_over_its_ceiling_waits_and_nothing_of_it_is_reserved_or_published(w: World, price: int) -> None:
    before, calls = committed(w), w.bus.calls
    event = w.put(csv(2))
    w.deliver(event, w.deployed(max_upload_microusd=price - 1))
    upload = w.upload_of(event)
    assert (upload.state, upload.worst_case_microusd) == ("needs_approval", price)
    assert (upload.budget_day, upload.reserved_microusd, upload.publisher_until) == ("", 0, 0)
    assert (committed(w), w.bus.calls) == (before, calls)
    waiting = {each.upload_id: each.announcement for each in w.table.open_uploads()}[upload.upload_id]
    assert waiting == Announcement(kind="needs_approval", serial="needs_approval-0")
    w.now += 902
    w.deliver({"continue_upload": upload.upload_id})
    w.deliver(event)
    assert w.bus.calls == calls
    assert w.topic.messages == []


def test_an_upload_at_its_ceiling_runs(w: World, price: int) -> None:
    event = w.put(csv(2))
    w.deliver(event, w.deployed(max_upload_microusd=price))
    assert w.upload_of(event).state == "running"


def test_an_upload_over_what_is_left_of_the_day_waits_and_the_next_day_has_room(w: World, price: int) -> None:
    intake = w.deployed(max_day_microusd=2 * price)
    second, third, smaller = (
        w.put(csv(rows, start), f"uploads/{start}.csv") for rows, start in ((2, 1), (2, 3), (1, 5))
    )
    for event in (second, third, smaller):
        w.deliver(event, intake)
    assert [w.upload_of(event).state for event in (second, third, smaller)] == [
        "running", "needs_approval", "needs_approval",
    ]  # fmt: skip
    assert committed(w) == 2 * price
    w.now += 86_400
    tomorrow = w.put(csv(2, 7), "uploads/7.csv")
    w.deliver(tomorrow, intake)
    assert w.upload_of(tomorrow).state == "running"
    assert committed(w) == price


def test_zero_is_no_ceiling(w: World) -> None:
    event = w.put(csv(2))
    w.deliver(event, w.deployed(max_upload_microusd=0, max_day_microusd=0))
    upload = w.upload_of(event)
    assert (upload.state, committed(w)) == ("running", upload.worst_case_microusd)


def test_a_negative_ceiling_is_refused() -> None:
    with pytest.raises(SettingsError, match="MAX_DAY_MICROUSD: Input should be greater than or equal to 0"):
        IntakeSettings.from_env({"MAX_DAY_MICROUSD": "-1", "UPLOADS_BUCKET": "b"})


def test_where_every_answer_is_known_nothing_is_reserved_and_no_ceiling_is_in_the_way(w: World) -> None:
    first = w.submit(csv(2))
    for row in (1, 2):
        w.store(effect_id(first, row), ANSWER, paid_attempts=1)
    before = committed(w)
    event = w.put(csv(2, header="E-Mail,Name,Company\n"), "uploads/again.csv")
    w.deliver(event, w.deployed(max_upload_microusd=1, max_day_microusd=1))
    upload = w.upload_of(event)
    assert (upload.state, upload.counts.known, upload.budget_day) == ("running", 2, "")
    assert committed(w) == before
    assert len(w.rows(upload.upload_id)) == 2


def test_the_same_bytes_again_join_the_upload_that_waits(w: World) -> None:
    intake = w.deployed(max_upload_microusd=1)
    first, again = w.put(csv(2)), w.put(csv(2), "uploads/copy.csv")
    w.deliver(first, intake)
    w.deliver(again, intake)
    assert w.object_of(again).upload_id == w.upload_of(first).upload_id
    # Another ceiling by now changes nothing: what waits is approved or not.
    w.deliver(w.put(csv(2), "uploads/third.csv"), w.deployed())
    assert (w.upload_of(first).state, w.bus.calls, len(list(w.table.open_uploads()))) == ("needs_approval", 0, 1)


@pytest.mark.parametrize("ceilings", [{"max_upload_microusd": 1}, {"max_day_microusd": 1}])
@pytest.mark.parametrize("point", ["uploads.admit.before", "uploads.admit.after"])
@pytest.mark.parametrize("nth", [1, 2])
def test_killed_around_the_admission_it_waits_once(w: World, ceilings: dict[str, int], point: str, nth: int) -> None:
    intake, event = w.deployed(**ceilings), w.put(csv(2))
    hook, arrivals = kill_at(point), [nth]

    def at_nth(reached: str) -> None:
        if reached == point:
            arrivals[0] -= 1
        if arrivals[0] == 0:
            hook(reached)

    with armed(at_nth):
        # Over the day's ceiling it is tried twice, and the first time not answered with a yes.
        if nth == 1 or ("max_day_microusd" in ceilings and point.endswith("before")):
            with pytest.raises(Killed):
                w.deliver(event, intake)
        else:
            w.deliver(event, intake)
    w.deliver(event, intake)
    assert (w.upload_of(event).state, committed(w), w.bus.calls) == ("needs_approval", 0, 0)
    assert len(list(w.table.open_uploads())) == 1


def test_uploads_admitted_at_once_never_overshoot_the_day(w: World, price: int) -> None:
    """The second is admitted while the first stands between its price and its reservation."""
    intake = w.deployed(max_day_microusd=2 * price)
    first, second = w.put(csv(2)), w.put(csv(2, 3), "uploads/other.csv")
    left = [second]

    def beside(point: str) -> None:
        if point == "uploads.admit.before" and left:
            w.deliver(left.pop(), intake)

    with armed(beside):
        w.deliver(first, intake)
    assert sorted(w.upload_of(event).state for event in (first, second)) == ["needs_approval", "running"]
    assert committed(w) == 2 * price
