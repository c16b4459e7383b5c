"""How often rows are counted: soon at first and near the end, and never so often that it costs rows squared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.finish.count import LONGEST_PAUSE_S, SECONDS_PER_ROW, pause_before_next_count

TICK_S = 60.0


def counts_taken(rows: int, rows_per_s: float) -> list[float]:
    """The times at which the rows of an upload are counted until all have ended, the first right after admission."""
    at, times = 0.0, [0.0]
    while rows_per_s * at < rows:
        terminal = min(rows, int(rows_per_s * at))
        at += pause_before_next_count(valid=rows, terminal=terminal, elapsed_s=at, tick_s=TICK_S)
        times.append(at)
    return times


@given(st.integers(1, 1_000_000), st.integers(0, 1_000_000), st.floats(-5, 1e6), st.floats(0.1, 300))
def test_a_pause_is_at_least_a_tick_and_never_endless(
    valid: int, terminal: int, elapsed_s: float, tick_s: float
) -> None:
    pause = pause_before_next_count(valid=valid, terminal=min(valid, terminal), elapsed_s=elapsed_s, tick_s=tick_s)
    assert tick_s <= pause <= max(LONGEST_PAUSE_S, tick_s, valid * SECONDS_PER_ROW)


@pytest.mark.parametrize("rows_per_s", [1, 20, 200])
def test_how_often_a_row_is_counted_does_not_grow_with_the_number_of_rows(rows_per_s: float) -> None:
    most = 0.5 / (rows_per_s * SECONDS_PER_ROW) + 3
    for rows in (1_000, 100_000, 1_000_000, 10_000_000):
        reads = sum(min(rows, rows_per_s * at) for at in counts_taken(rows, rows_per_s))
        assert reads / rows <= most


@pytest.mark.parametrize("rows", [40, 10_000, 1_000_000])
def test_the_end_is_seen_soon_after_it_came(rows: int) -> None:
    ended_at = rows / 20
    seen_at = counts_taken(rows, 20)[-1]
    assert seen_at - ended_at <= max(TICK_S, 0.25 * ended_at)


def test_a_small_upload_is_counted_every_tick() -> None:
    assert pause_before_next_count(valid=40, terminal=10, elapsed_s=30, tick_s=TICK_S) == TICK_S


def test_an_upload_that_stands_still_is_counted_again_within_the_longest_pause() -> None:
    assert pause_before_next_count(valid=40, terminal=39, elapsed_s=1e6, tick_s=TICK_S) == LONGEST_PAUSE_S
    assert pause_before_next_count(valid=40, terminal=0, elapsed_s=1e6, tick_s=TICK_S) == LONGEST_PAUSE_S
