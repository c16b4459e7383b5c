"""When a message comes back: never sooner than asked, never beyond what SQS takes, and never all at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from functions.classify.delays import MAX_SEND_DELAY_S, MAX_VISIBILITY_S, Delays


@given(st.integers(0, 10_000))
def test_back_off_doubles_up_to_its_bound(receives: int) -> None:
    delay = Delays(5.0, 900.0).back_off(receives)
    longest = min(900.0, 5.0 * 2.0 ** min(max(receives - 1, 0), 32))
    assert longest / 2 <= delay <= longest + 1


@given(st.floats(-(10.0**9), 10.0**9))
def test_a_wait_is_never_cut_short_but_by_sqs(seconds: float) -> None:
    delays = Delays(5.0, 900.0)
    assert min(seconds, MAX_VISIBILITY_S) <= delays.after(seconds) <= MAX_VISIBILITY_S
    assert min(seconds, MAX_SEND_DELAY_S) <= delays.send_delay(seconds) <= MAX_SEND_DELAY_S
    assert delays.after(seconds) >= 0


def test_rows_that_failed_together_do_not_come_back_together() -> None:
    delays = Delays(60.0, 900.0)
    assert len({delays.back_off(3) for _ in range(50)}) > 20
    assert len({delays.after(100.0) for _ in range(50)}) > 20


def test_without_back_off_a_message_comes_back_at_once() -> None:
    assert Delays(0.0, 0.0).back_off(4) == 0
    assert Delays(0.0, 0.0).after(0.0) == 0
