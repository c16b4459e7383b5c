"""Calls beside each other, taken back in order: how many at once, what a failure does, and what is timed."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator

import pytest

from functions.crash_points import Killed
from functions.intake.pipeline import THREADS, Pipeline, Timings


def test_results_come_in_the_order_of_the_items_whichever_is_first_done() -> None:
    gates = [threading.Event() for _ in range(THREADS)]

    def work(number: int) -> int:
        # Each waits for the one behind it, so they end in reverse.
        if number + 1 < THREADS:
            assert gates[number + 1].wait(10)
        gates[number].set()
        return number * number

    with Pipeline() as pipeline:
        found = list(pipeline.each(work, range(THREADS)))
    assert found == [(number, number * number) for number in range(THREADS)]


def test_no_more_items_are_taken_than_there_are_threads_to_work_on_them() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for number in range(1_000):
            taken.append(number)
            yield number

    with Pipeline(4) as pipeline:
        for count, _ in enumerate(pipeline.each(lambda number: number, items()), start=1):
            assert len(taken) <= count + 3
    assert len(taken) == 1_000


@pytest.mark.parametrize("error", [ValueError("no"), Killed()])
def test_what_one_raised_is_raised_in_its_place_and_what_has_not_begun_is_dropped(error: BaseException) -> None:
    begun: list[int] = []

    def work(number: int) -> int:
        begun.append(number)
        if number == 5:
            raise error
        return number

    given: list[int] = []
    with pytest.raises(type(error)), Pipeline(2) as pipeline:
        given.extend(number for number, _ in pipeline.each(work, range(1_000)))
    assert given == list(range(5))
    assert max(begun) <= 8
    assert not any("pipeline" in thread.name for thread in threading.enumerate())


def test_leaving_waits_for_what_runs() -> None:
    running, ended = threading.Event(), threading.Event()

    def work(_: int) -> None:
        running.set()
        release.wait(10)
        ended.set()

    release = threading.Event()
    with Pipeline(1) as pipeline:
        pipeline.submit(work, 1)
        dropped = pipeline.submit(work, 2)
        assert running.wait(10)
        threading.Timer(0.01, release.set).start()
    assert ended.is_set()
    assert dropped.cancelled() or dropped.done()


def test_an_error_while_the_items_are_made_ends_the_pass() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("unreadable")

    with pytest.raises(ValueError, match="unreadable"), Pipeline() as pipeline:
        list(pipeline.each(lambda number: number, items()))


def test_parts_are_added_up_and_what_is_done_with_an_item_is_not_part_of_making_it() -> None:
    ticks = itertools.count()
    timings = Timings(timer=lambda: float(next(ticks)))
    for _ in timings.each("read", ["a", "b"]):
        with timings.of("lookup"):
            continue
    # Two items and the end of them, one tick each; what happened in between took two more.
    assert timings.milliseconds() == {"read_ms": 3_000, "lookup_ms": 2_000}


def test_a_part_that_failed_is_counted_too() -> None:
    ticks = itertools.count()
    timings = Timings(timer=lambda: float(next(ticks)))
    with pytest.raises(ValueError, match="no"), timings.of("publish"):
        raise ValueError("no")
    assert timings.milliseconds() == {"publish_ms": 1_000}
