"""The approver: decides by policy or as a person said, under a request_id that it never mints."""

from __future__ import annotations

from typing import Any

import pytest

from functions.refunds.adapters.approver import Approver
from functions.refunds.errors import ExceedsPaidError, InvalidRequestError, KeyReusedError, UnknownOrderError
from functions.refunds.keys import mint_request_id

from .calling import Told
from .world import World

BY_ANN = {"decision": "CONFIRM", "actor": "ann", "why": "the parcel was lost"}


def decide(world: World, told: Told | None = None, **given: Any) -> dict[str, Any]:
    wanted = {"order_id": "A-1", "amount_minor": 1_250, "currency": "EUR"}
    return Approver(world.approvals, told or Told())({**wanted, **given})


def test_policy_approves_under_its_limit_and_a_repeat_approves_nothing_more(world: World) -> None:
    world.order()
    request_id = mint_request_id()
    answers = [decide(world, request_id=request_id) for _ in range(3)]
    assert answers == [{"decision": "CONFIRM", "request_id": request_id}] * 3
    assert world.order_of().committed_minor == 1_250
    [action] = world.rows("action:")
    assert action["decided_by"] == "policy"


def test_over_the_limit_it_takes_a_person_and_nothing_is_stored(world: World) -> None:
    world.order()
    request_id, told = mint_request_id(), Told()
    assert decide(world, told, request_id=request_id, amount_minor=5_001)["decision"] == "needs_a_person"
    assert world.rows("action:") == []
    decided = decide(world, told, request_id=request_id, amount_minor=5_001, **BY_ANN)
    assert decided == {"decision": "CONFIRM", "request_id": request_id}
    assert told.metrics == ["ActionsWaiting", "ActionsApproved"]


def test_a_denial_stays_one_whoever_asks_again(world: World) -> None:
    world.order()
    request_id = mint_request_id()
    assert decide(world, request_id=request_id, **{**BY_ANN, "decision": "DENY"})["decision"] == "DENY"
    assert decide(world, request_id=request_id, **BY_ANN)["decision"] == "DENY"
    assert world.order_of().committed_minor == 0


def test_the_derived_key_makes_two_rightful_refunds_one_which_is_its_cost(world: World) -> None:
    world.order()
    first, second = (decide(world, derived=True, **BY_ANN) for _ in range(2))
    assert first == second
    assert world.order_of().committed_minor == 1_250


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({}, InvalidRequestError),
        ({"request_id": "rf_1"}, InvalidRequestError),
        ({"request_id": None}, InvalidRequestError),
        ({"derived": 1}, InvalidRequestError),
        ({"derived": True, "request_id": "rf_" + "a" * 32}, InvalidRequestError),
        ({"derived": True, "amount_minor": 12.5}, InvalidRequestError),
        ({"derived": True, "amount_minor": -1}, InvalidRequestError),
        ({"derived": True, "currency": "ZZZ"}, InvalidRequestError),
        ({"derived": True, "order_id": ""}, InvalidRequestError),
        ({"derived": True, "approved": True}, InvalidRequestError),
        ({"derived": True, **BY_ANN, "decision": "YES"}, InvalidRequestError),
        ({"derived": True, **BY_ANN, "actor": ""}, InvalidRequestError),
        ({"derived": True, **BY_ANN, "actor": "policy"}, InvalidRequestError),
        ({"derived": True, **BY_ANN, "why": "x" * 501}, InvalidRequestError),
        ({"derived": True, "order_id": "A-9", **BY_ANN}, UnknownOrderError),
        ({"derived": True, "amount_minor": 10_001, **BY_ANN}, ExceedsPaidError),
    ],
)
def test_what_cannot_be_decided_is_a_typed_error_and_stores_nothing(
    world: World, given: dict[str, Any], refusal: type[Exception]
) -> None:
    world.order()
    before = world.rows("")
    with pytest.raises(refusal) as raised:
        decide(world, **given)
    assert str(raised.value).endswith(".")
    assert world.rows("") == before


def test_one_request_id_is_one_action(world: World) -> None:
    world.order()
    request_id = mint_request_id()
    decide(world, request_id=request_id)
    with pytest.raises(KeyReusedError):
        decide(world, request_id=request_id, amount_minor=1_251)


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(InvalidRequestError):
        Approver(None, Told())(["approve"])  # type: ignore[arg-type]
