"""The guards stop in the order of the design: self-trigger, hop limit, budget."""

from __future__ import annotations

import pytest

from functions.events.envelope import Envelope
from functions.events.guards import check


def event(hops: int = 0, agents: tuple[str, ...] = ("intake",)) -> Envelope:
    base = Envelope.new("prospect.submitted", {}, correlation_id="u-1", source_agent="intake@1")
    return base.model_copy(update={"hops": hops, "lineage": agents})


def stopped(envelope: Envelope, me: str = "classify", state: str | None = "running", max_hops: int = 4) -> str | None:
    stop = check(envelope, me=me, max_hops=max_hops, upload_state=state)
    return stop.reason if stop else None


def test_an_event_of_a_running_upload_passes() -> None:
    assert stopped(event()) is None


def test_a_consumer_never_answers_an_event_that_it_had_a_part_in() -> None:
    assert stopped(event(), me="intake") == "self_trigger"
    assert stopped(event(hops=2, agents=("intake", "classify", "finish"))) == "self_trigger"


def test_its_name_is_compared_whole() -> None:
    assert stopped(event(agents=("classify-more",))) is None


@pytest.mark.parametrize(("hops", "reason"), [(3, None), (4, None), (5, "hop_limit"), (99, "hop_limit")])
def test_the_last_allowed_hop_passes_and_the_next_does_not(hops: int, reason: str | None) -> None:
    assert stopped(event(hops=hops)) == reason


@pytest.mark.parametrize("state", ["paused", "needs_approval", "done", "absent", ""])
def test_nothing_is_spent_for_an_upload_that_is_not_running(state: str) -> None:
    assert stopped(event(), state=state) == "budget_closed"


def test_a_consumer_that_spends_nothing_needs_no_budget() -> None:
    assert stopped(event(), state=None) is None


def test_the_first_guard_in_order_gives_the_reason() -> None:
    assert stopped(event(hops=9, agents=("classify",)), state="paused") == "self_trigger"
    assert stopped(event(hops=9), state="paused") == "hop_limit"
