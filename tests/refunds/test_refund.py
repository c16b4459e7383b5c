"""One approved action, one refund, by the provider whose effect is the ledger's row."""

from __future__ import annotations

import pytest

from functions.refunds.errors import DeniedError, KeyReusedError, NotApprovedError
from functions.refunds.keys import mint_request_id
from functions.refunds.request import RefundRequest

from .world import World, threads_at_once


def test_an_approved_action_is_refunded_once_however_often_it_is_run(world: World) -> None:
    world.order()
    action = world.approve()
    answers = [world.run(action) for _ in range(3)]
    assert [answer.status for answer in answers] == ["done", "already_done", "already_done"]
    assert {answer.refund_id for answer in answers} == {action.request_id}
    [row] = world.rows()
    assert (row["order_id"], row["amount_minor"], row["currency"]) == ("A-1", 1_250, "EUR")
    assert world.rows("action:")[0]["result"] == "refunded"
    assert list(world.ledger.open_actions()) == []


def test_a_refund_that_goes_well_takes_three_write_requests_and_a_repeat_writes_nothing_new(world: World) -> None:
    world.order()
    before = world.writes
    action = world.approve()
    assert world.writes - before == 1
    before = world.writes
    world.run(action)
    assert world.writes - before == 3
    before = world.rows("")
    world.run(action)
    assert world.rows("") == before


def test_fifty_duplicates_at_once_pay_one_refund(world: World) -> None:
    world.order()
    action = world.approve()
    answers = threads_at_once(50, lambda _number: world.run(action).status)
    assert answers.count("done") == 1
    assert set(answers) <= {"done", "already_done", "in_progress"}
    assert len(world.rows()) == 1


@pytest.mark.parametrize(
    "changed",
    [{"order_id": "A-2"}, {"amount_minor": 1_251}, {"currency": "USD"}],
    ids=lambda changed: next(iter(changed)),
)
@pytest.mark.parametrize("paid", [False, True])
def test_another_action_under_a_used_key_is_refused_and_nothing_is_written(
    world: World, changed: dict[str, object], *, paid: bool
) -> None:
    world.order()
    world.order("A-2")
    action = world.approve()
    if paid:
        world.run(action)
    before = world.rows("")
    request = action.request
    other = {name: getattr(request, name) for name in ("request_id", "order_id", "amount_minor", "currency")}
    with pytest.raises(KeyReusedError, match=action.request_id):
        world.refund.run(RefundRequest.parse(other | changed), deadline=world.now + 60)
    assert world.rows("") == before


def test_what_nobody_approved_or_somebody_denied_is_not_paid(world: World) -> None:
    world.order()
    request = RefundRequest(mint_request_id(), "A-1", 1_250, "EUR")
    with pytest.raises(NotApprovedError):
        world.refund.run(request, deadline=world.now + 60)
    action = world.approve()
    denied = world.deny()
    with pytest.raises(DeniedError):
        world.run(denied)
    assert world.rows() == []
    assert world.record(denied) is None
    assert world.record(action) is None


def test_too_late_to_be_sure_of_the_end_nothing_is_sent_and_the_same_call_is_done_later(world: World) -> None:
    world.order()
    action = world.approve()
    answer = world.refund.run(action.request, deadline=world.now + 10)
    assert (answer.status, answer.reason) == ("not_started", "out_of_time")
    assert world.rows() == []
    assert world.run(action).status == "done"
    assert len(world.rows()) == 1
