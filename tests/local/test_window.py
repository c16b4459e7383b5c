"""The deduplication window, by its documented rules."""

from __future__ import annotations

import pytest

from local.bus.window import WINDOW_S, DeduplicationWindow

SCOPE = ("000000000000", "arn:bus", "")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def window(clock: Clock) -> DeduplicationWindow:
    return DeduplicationWindow(clock)


def test_an_id_that_was_stored_repeats_and_names_the_first_entry(window: DeduplicationWindow) -> None:
    assert window.repeats(SCOPE, "row-1") is None
    window.stored(SCOPE, "row-1", "event-1", "1")
    assert window.repeats(SCOPE, "row-1") == ("event-1", "1")


@pytest.mark.parametrize(
    ("after_s", "repeats"), [(0.0, True), (WINDOW_S - 0.001, True), (WINDOW_S, False), (WINDOW_S + 1, False)]
)
def test_the_window_closes_after_300_seconds(
    window: DeduplicationWindow, clock: Clock, after_s: float, repeats: bool
) -> None:
    window.stored(SCOPE, "row-1", "event-1", "1")
    clock.now += after_s
    assert (window.repeats(SCOPE, "row-1") is not None) is repeats


def test_a_repeat_does_not_lengthen_the_window(window: DeduplicationWindow, clock: Clock) -> None:
    window.stored(SCOPE, "row-1", "event-1", "1")
    clock.now += WINDOW_S - 1
    assert window.repeats(SCOPE, "row-1")
    clock.now += 2
    assert window.repeats(SCOPE, "row-1") is None


@pytest.mark.parametrize(
    "other", [("111111111111", "arn:bus", ""), ("000000000000", "arn:other", ""), ("000000000000", "arn:bus", "group")]
)
def test_another_account_bus_or_group_is_another_scope(
    window: DeduplicationWindow, other: tuple[str, str, str]
) -> None:
    window.stored(SCOPE, "row-1", "event-1", "1")
    assert window.repeats(other, "row-1") is None


def test_closed_entries_are_forgotten(window: DeduplicationWindow, clock: Clock) -> None:
    for number in range(1000):
        window.stored(SCOPE, f"row-{number}", "event", "1")
        clock.now += 1
    window.repeats(SCOPE, "any")
    assert len(window) == WINDOW_S - 1
