"""The fault matrix, small: a few of its lines with ours, on real local clouds."""

from __future__ import annotations

import dataclasses

import pytest

from bench.matrix.contender import Ended, Fault
from bench.matrix.faults import faults
from bench.matrix.ground import MatrixError, refuse_uninjected
from bench.matrix.ours import Ours
from bench.matrix.report import Line, rendered

NAMED = {fault.name: fault for fault in faults(pace=6)}


def test_answers_that_die_with_their_handler_and_publishing_that_fails_cost_no_row_and_no_second_request() -> None:
    """Two of the matrix's lines in one cloud: the second is over before the first can begin."""
    fault = dataclasses.replace(NAMED["raise-answered"], rows=12, aws=NAMED["put-events"].aws)
    ended = Ours().run(fault)
    assert Line(fault, "ours", ended).broken == []
    assert (ended.model_requests, ended.may_have_been_billed, ended.worst_row) == (12, 12, 1)
    assert (ended.where, ended.stored_outcomes, ended.lost) == ({"classified": 2, "unknown": 10}, 2, 0)


ENDED = Ended(20, 25, 24, 24, 3, 20, 1, {"classified": 20}, dead_letters=2, alarms=["Prospects-classify-errors"])


def test_a_line_says_which_bars_do_not_hold_for_ours_alone() -> None:
    fault = Fault("x", "something")
    assert Line(fault, "ours", ENDED).broken == [
        "x: 1.200 requests a row may have been billed",
        "x: 3 requests for one row may have been billed",
        "x: 1 rows lost",
    ]
    assert Line(fault, "stock", ENDED).broken == []
    text = rendered(Line(fault, "ours", ENDED), first=True)
    assert text.startswith("something ")
    assert text.endswith("1.200      3      20     1  20 classified, 2 in a DLQ; classify-errors")


class _Told:
    """A cloud that tells how often faults came."""

    def __init__(self, **hits: list[int]) -> None:
        self._hits = hits

    def injected(self) -> dict[str, list[int]]:
        return self._hits


def test_a_fault_that_never_came_is_not_survived() -> None:
    fault = Fault("x", "something")
    with pytest.raises(MatrixError, match="x: service fault 2 was never injected"):
        refuse_uninjected(_Told(script=[4], service=[1, 0]), fault)  # type: ignore[arg-type]
    refuse_uninjected(_Told(script=[4], service=[], handler=[1]), fault)  # type: ignore[arg-type]
