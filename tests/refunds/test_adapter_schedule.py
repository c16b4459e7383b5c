"""By schedule: what of a pass a person must hear, and what nobody needs to."""

from __future__ import annotations

import pytest

from functions.refunds.adapters.schedule import Pass, PassFailedError
from functions.refunds.answer import Status
from functions.refunds.providers.protocol import Absent, CannotTell
from functions.refunds.reconcile import Looked, Reconciled

from .calling import Told, approved, asked, paying
from .test_adapter_direct import LOST
from .world import INVOCATION_S, World

ALARM_S = 3_600.0


class Scripted:
    """A reconciler whose pass came to this."""

    def __init__(self, *looked: Looked, complete: bool = True) -> None:
        self._pass = Reconciled(looked, complete)

    def run(self, *, deadline: float) -> Reconciled:
        return self._pass


def told_of(*looked: Looked, complete: bool = True) -> list[str]:
    told = Told()
    scripted = Scripted(*looked, complete=complete)
    Pass(scripted, told, unknown_alarm_s=ALARM_S).run(deadline=1.0)  # type: ignore[arg-type]
    return told.metrics


@pytest.mark.parametrize(
    ("verdict", "status", "metrics"),
    [
        ("waiting", None, []),
        ("in_progress", None, []),
        ("settling", None, []),
        ("moved", None, []),
        ("closed", None, ["RefundsJoined"]),
        ("found", None, ["RefundsJoined"]),
        ("cannot_tell", None, ["RefundsUnknown"]),
        ("run", "done", ["RefundsDone"]),
        ("run", "failed", ["RefundsFailed"]),
        ("run", "unknown", ["RefundsUnknown"]),
        ("run", "not_started", ["RefundsNotBegun"]),
    ],
)
def test_every_verdict_is_counted_or_is_nothing_to_hear_of(
    verdict: str, status: Status | None, metrics: list[str]
) -> None:
    assert told_of(Looked("rf_1", verdict, status=status)) == metrics  # type: ignore[arg-type]


@pytest.mark.parametrize(("age_s", "rings"), [(3_599.0, False), (3_601.0, True)])
@pytest.mark.parametrize("verdict", ["settling", "cannot_tell"])
def test_one_that_is_unknown_for_too_long_is_told(verdict: str, age_s: float, *, rings: bool) -> None:
    metrics = told_of(Looked("rf_1", verdict, unknown_s=age_s))  # type: ignore[arg-type]
    assert ("RefundsUnknownTooLong" in metrics) is rings


def test_a_pass_that_could_not_look_at_all_of_them_says_so() -> None:
    assert told_of(complete=False) == ["PassesCut"]


def test_a_look_that_failed_fails_the_pass_after_the_others_were_told() -> None:
    told = Told()
    scripted = Scripted(Looked("rf_1", "error", "ClientError"), Looked("rf_2", "found"))
    with pytest.raises(PassFailedError, match="1 of 2 open refunds"):
        Pass(scripted, told, unknown_alarm_s=ALARM_S).run(deadline=1.0)  # type: ignore[arg-type]
    assert told.metrics == ["LooksFailed", "RefundsJoined"]


def test_a_pass_over_the_real_reconciler_runs_what_nobody_ran(world: World) -> None:
    world.order()
    action = world.approve()
    told = Told()
    world.now += 1_000
    counts = Pass(world.reconciler, told, unknown_alarm_s=ALARM_S).run(deadline=world.now + 900)
    assert (counts, told.metrics, len(world.rows())) == ({"run": 1}, ["RefundsDone"], 1)
    assert world.run(action).status == "already_done"


def test_a_refund_left_unknown_is_told_when_the_alarms_time_is_over(world: World) -> None:
    action, provider = approved(world, LOST)
    paying(world, Told())(asked(action), deadline=world.now + INVOCATION_S)
    provider.look_up = lambda _action: CannotTell("provider_look_up_failed")  # type: ignore[method-assign]
    heard = []
    for later_s in (1_000.0, 3_000.0):
        world.now += later_s
        told = Told()
        Pass(world.reconciler, told, unknown_alarm_s=ALARM_S).run(deadline=world.now + 900)
        heard.append(told.metrics)
    assert heard == [["RefundsUnknown"], ["RefundsUnknown", "RefundsUnknownTooLong"]]


def test_a_refund_that_every_repeat_leaves_unknown_again_is_told_as_well(world: World) -> None:
    # As Stripe does, which answers the same key for a day with the 500 that it answered first.
    action, provider = approved(world, *[LOST] * 24)
    provider.look_up = lambda _action: Absent()  # type: ignore[method-assign]
    paying(world, Told())(asked(action), deadline=world.now + INVOCATION_S)
    told = Told()
    for _ in range(24):
        world.now += 300
        Pass(world.reconciler, told, unknown_alarm_s=ALARM_S).run(deadline=world.now + 900)
    record = world.record(action)
    assert record is not None
    assert record.attempt > 1
    assert "RefundsUnknownTooLong" in told.metrics
