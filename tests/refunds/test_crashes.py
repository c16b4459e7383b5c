"""Stopped at every outside call of a refund: killed, with a duplicate beside, or back after its lease.

Whatever happens there, once all is settled one refund was made at the provider, one row is in the ledger, the order's
commitment is what was refunded, and nobody has anything left to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from functions.crash_points import Killed, armed, kill_at
from functions.effects.states import State
from functions.refunds.keys import mint_request_id
from functions.refunds.model import Action, ProviderName

from .payments import Payments, payments
from .world import INVOCATION_S, SETTINGS, Aws, World

AMOUNT = 1_250
LEASE_S = INVOCATION_S + SETTINGS.lease_grace_s + 1
SETTLE_S = LEASE_S + SETTINGS.settle_s + 1
_PASSES = 4


@dataclass(frozen=True)
class Scenario:
    """`then`: what the provider does with the first request for it; `refunded`: whether it ends as a refund."""

    provider: ProviderName
    then: Any = None
    refunded: bool = True


DROPPED = {"drop": "after_applying"}
NEVER_ARRIVED = {"drop": "before_applying"}
REFUSED = {"status": 402, "type": "card_error", "code": "expired_or_canceled_card"}
SCENARIOS = {
    "a row of the ledger": Scenario("ledger"),
    "Stripe": Scenario("stripe"),
    "Stripe, the answer lost": Scenario("stripe", DROPPED),
    "Stripe, the request lost": Scenario("stripe", NEVER_ARRIVED),
    "Stripe refuses": Scenario("stripe", REFUSED, refunded=False),
}


class Stage:
    """One approved action of a scenario, and everybody who may act on it."""

    def __init__(self, world: World, scenario: Scenario, stripe: Payments) -> None:
        self.world = world
        self.scenario = scenario
        self.stripe = stripe
        self.world.providers["stripe"] = stripe.shared()
        request_id = mint_request_id()
        # Each action has a payment of its own, since they share the stand-in.
        payment = "" if scenario.provider == "ledger" else f"ch_10000eur_{request_id}"
        self.world.order(request_id, provider=scenario.provider, payment=payment)
        self.action: Action = self.world.approve(AMOUNT, request_id, request_id)
        if scenario.then is not None:
            stripe.standin.add_rule({"when": {"request_id": request_id}, "times": 1, "then": scenario.then})

    def call(self) -> str:
        status: str = self.world.run(self.action).status
        return status

    def others(self) -> None:
        """A duplicate, and a pass of the reconciler."""
        self.call()
        self.world.reconcile()

    def settle(self) -> None:
        """Passes of the reconciler, until one finds nothing left to do."""
        for _ in range(_PASSES):
            self.world.now += SETTLE_S
            if not self.world.reconcile():
                return
        raise AssertionError(f"{self.action.request_id} is still open")

    def check(self, at: str) -> None:
        world, request_id, refunded = self.world, self.action.request_id, self.scenario.refunded
        action, row = world.ledger.get_action(request_id), world.ledger.get_refund(request_id)
        assert action is not None, at
        assert (action.state, action.result) == ("closed", "refunded" if refunded else "failed"), at
        assert (row is not None) == refunded, at
        assert world.order_of(request_id).committed_minor == AMOUNT * refunded, at
        if self.scenario.provider == "stripe":
            made = self.stripe.standin.counts()["by_request_id"].get(request_id, 0)
            assert made == refunded, at
        # Whoever calls again is told the truth, and the record holds it.
        assert self.call() == ("already_done" if refunded else "failed"), at
        record = world.record(self.action)
        assert record is not None, at
        assert (record.state, record.paid_attempts <= 1) == (State.DONE, True), at


@pytest.fixture(scope="module")
def stripe() -> Iterator[Payments]:
    with payments({}, lambda: 0.0) as opened:
        yield opened


def points_of(stage: Stage) -> list[str]:
    """Every point that the whole of it reaches, in order."""
    reached: list[str] = []
    with armed(reached.append):
        stage.call()
        stage.settle()
    stage.check("undisturbed")
    return list(dict.fromkeys(reached))


def once_at(point: str, act: Callable[[], None]) -> Callable[[str], None]:
    left = [True]

    def hook(reached: str) -> None:
        if reached == point and left[0]:
            left[0] = False
            act()

    return hook


def killed_at(stage: Stage, point: str) -> None:
    with armed(kill_at(point)), suppress(Killed):
        stage.call()
    stage.call()


def doubled_at(stage: Stage, point: str) -> None:
    with armed(once_at(point, stage.call)):
        stage.call()


def late_at(stage: Stage, point: str) -> None:
    """The owner stops there, and goes on when everybody has given it up and somebody else has settled the refund."""

    def the_world_goes_on() -> None:
        stage.world.now += LEASE_S
        stage.others()
        stage.world.now += SETTINGS.settle_s
        stage.others()

    with armed(once_at(point, the_world_goes_on)):
        stage.call()


ALL = (killed_at, doubled_at, late_at)
STOPS = {
    "a row of the ledger": ALL,
    "Stripe": ALL,
    # Who else may come there, and when, makes no other difference here than above.
    "Stripe, the answer lost": (killed_at, late_at),
    "Stripe, the request lost": (killed_at,),
    "Stripe refuses": (killed_at,),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_one_refund_wherever_a_call_is_stopped(aws: Aws, stripe: Payments, name: str) -> None:
    world = World(aws)
    points = points_of(Stage(world, SCENARIOS[name], stripe))
    assert {"refunds.get_action.before", "effects.claim.after"} <= set(points)
    for point in points:
        for stop in STOPS[name]:
            stage = Stage(world, SCENARIOS[name], stripe)
            stop(stage, point)
            stage.settle()
            stage.check(f"{stop.__name__} {point}")


@pytest.mark.parametrize("name", ["a row of the ledger", "Stripe, the answer lost", "Stripe, the request lost"])
def test_one_refund_wherever_the_reconciler_is_killed(aws: Aws, stripe: Payments, name: str) -> None:
    world = World(aws)

    def to_reconcile() -> Stage:
        stage = Stage(world, SCENARIOS[name], stripe)
        # The ledger's was approved and never begun; the others are unknown.
        if stage.scenario.provider == "stripe":
            stage.call()
        stage.world.now += SETTLE_S
        return stage

    reached: list[str] = []
    first = to_reconcile()
    with armed(reached.append):
        first.world.reconcile()
    first.settle()
    first.check("undisturbed")
    for point in dict.fromkeys(reached):
        stage = to_reconcile()
        with armed(kill_at(point)), suppress(Killed):
            stage.world.reconcile()
        stage.settle()
        stage.check(f"killed at {point}")


def test_an_approval_killed_anywhere_and_repeated_commits_once(aws: Aws) -> None:
    for point in ("refunds.get_order.before", "refunds.decide.before", "refunds.decide.after"):
        world, key = World(aws), mint_request_id()
        world.order()
        with armed(kill_at(point)), pytest.raises(Killed):
            world.approve(AMOUNT, request_id=key)
        assert world.approve(AMOUNT, request_id=key).request_id == key
        assert world.order_of().committed_minor == AMOUNT, point
        assert len(world.rows("action:")) == 1, point
