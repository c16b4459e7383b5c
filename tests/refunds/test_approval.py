"""Approvals: who may approve what, and that all of them together never exceed what was paid."""

from __future__ import annotations

import random

import pytest

from functions.refunds.approval import Wanted
from functions.refunds.errors import (
    ExceedsPaidError,
    InvalidRequestError,
    KeyReusedError,
    OrderDiffersError,
    UnknownOrderError,
)
from functions.refunds.keys import mint_request_id
from functions.refunds.orders import paid_order

from .world import World, threads_at_once


def test_a_hundred_partial_refunds_at_once_never_exceed_what_was_paid(world: World) -> None:
    world.order()
    amounts = [random.Random(number).randint(50, 400) for number in range(100)]

    def approve_and_run(number: int) -> int:
        try:
            action = world.approve(amounts[number])
        except ExceedsPaidError:
            return 0
        assert world.run(action).status == "done"
        return action.amount_minor

    refunded = threads_at_once(100, approve_and_run)
    assert all(isinstance(each, int) for each in refunded), refunded
    rows = world.rows()
    assert sum(row["amount_minor"] for row in rows) == sum(refunded) == world.order_of().committed_minor
    # No more than was paid, and no less than what leaves no room for a refused one.
    assert 10_000 - max(amounts) < sum(refunded) <= 10_000


def test_approving_fifty_times_at_once_under_one_request_id_commits_once(world: World) -> None:
    world.order()
    key = mint_request_id()
    decided = threads_at_once(50, lambda _number: world.approve(request_id=key).request_id)
    assert set(decided) == {key}
    assert world.order_of().committed_minor == 1_250
    assert len(world.rows("action:")) == 1


def test_what_is_above_the_rest_of_the_order_is_refused_and_the_whole_rest_is_not(world: World) -> None:
    world.order()
    world.approve(9_000)
    before = world.rows("")
    with pytest.raises(ExceedsPaidError, match=r"no more than 10\.00 EUR"):
        world.approve(1_001)
    assert world.rows("") == before
    world.approve(1_000)
    assert world.order_of().left_minor == 0


def test_a_repeat_when_nothing_is_left_is_still_the_same_approval(world: World) -> None:
    world.order()
    action = world.approve(10_000)
    assert world.approve(10_000, request_id=action.request_id) == action


def test_the_first_decision_stays(world: World) -> None:
    world.order()
    wanted, key = Wanted("A-1", 1_250, "EUR"), mint_request_id()
    denied = world.approvals.decide(wanted, "DENY", actor="ann", why="no", request_id=key)
    assert denied.state == "denied"
    assert world.approve(request_id=key) == denied
    assert world.order_of().committed_minor == 0
    assert list(world.ledger.open_actions()) == []


def test_one_request_id_is_one_action(world: World) -> None:
    world.order()
    world.order("A-2")
    key = world.approve().request_id
    before = world.rows("")
    for changed in ({"amount_minor": 1_251}, {"order_id": "A-2"}):
        with pytest.raises(KeyReusedError):
            world.approve(request_id=key, **changed)
    assert world.rows("") == before


def test_policy_approves_up_to_its_limit_by_currency_and_leaves_the_rest_to_a_person(world: World) -> None:
    world.order()
    world.ledger.record_order(paid_order("B-1", 10_000, "JPY", provider="ledger", payment=""))
    action = world.approvals.by_policy(Wanted("A-1", 5_000, "EUR"))
    assert action is not None
    assert (action.decision, action.decided_by) == ("CONFIRM", "policy")
    assert world.approvals.by_policy(Wanted("A-1", 5_001, "EUR")) is None
    assert world.approvals.by_policy(Wanted("B-1", 1, "JPY")) is None
    assert len(world.rows("action:")) == 1


def test_refunds_are_of_known_orders_in_their_own_currency(world: World) -> None:
    world.order()
    with pytest.raises(UnknownOrderError):
        world.approve(order_id="A-9")
    with pytest.raises(InvalidRequestError, match="was paid in EUR"):
        world.approvals.decide(Wanted("A-1", 1, "USD"), "CONFIRM", actor="ann", why="x")
    assert world.rows("action:") == []


def test_an_amount_that_stripe_cannot_be_told_is_not_approved(world: World) -> None:
    world.ledger.record_order(paid_order("K-1", 10_000, "KWD", provider="stripe", payment="ch_1"))
    world.ledger.record_order(paid_order("K-2", 10_000, "KWD", provider="ledger", payment=""))
    with pytest.raises(InvalidRequestError, match=r"5\.124 KWD"):
        world.approvals.decide(Wanted("K-1", 5_124, "KWD"), "CONFIRM", actor="ann", why="x")
    assert world.rows("action:") == []
    world.approvals.decide(Wanted("K-2", 5_124, "KWD"), "CONFIRM", actor="ann", why="x")


def test_what_was_paid_never_changes(world: World) -> None:
    paid = paid_order("A-1", 10_000, "EUR", provider="ledger", payment="")
    assert world.ledger.record_order(paid) == "recorded"
    world.approve()
    assert world.ledger.record_order(paid) == "already_recorded"
    with pytest.raises(OrderDiffersError):
        world.ledger.record_order(paid.model_copy(update={"paid_minor": 20_000}))
    assert (world.order_of().paid_minor, world.order_of().committed_minor) == (10_000, 1_250)


def test_a_derived_key_costs_the_second_of_two_equal_refunds(world: World) -> None:
    """A repeat by somebody who kept no key is the same refund; so is a rightful second one of that amount."""
    world.order()
    wanted = Wanted("A-1", 1_250, "EUR")
    actions = [
        world.approvals.decide(wanted, "CONFIRM", actor="ann", why=why, request_id=wanted.derived_request_id)
        for why in ("a broken cup", "a second broken cup")
    ]
    assert [world.run(action).status for action in actions] == ["done", "already_done"]
    assert (len(world.rows()), world.order_of().committed_minor) == (1, 1_250)
    # Minted keys pay both.
    assert [world.run(world.approve()).status for _ in range(2)] == ["done", "done"]
    assert len(world.rows()) == 3
