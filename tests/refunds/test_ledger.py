"""The ledger's writes one by one: repeated, contradicted, in conflict, and with their answers lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyPersistenceLayerError
from botocore.exceptions import ClientError, ReadTimeoutError

from functions.refunds.errors import KeyReusedError, LedgerBusyError, NotApprovedError

from .world import SETTINGS, WRITES, Aws, World


def test_a_row_is_written_once_and_a_repeat_finds_it(world: World) -> None:
    world.order()
    action = world.approve()
    _, first = world.ledger.create_refund(action, refund_id="re_1", at=1)
    row, second = world.ledger.create_refund(action, refund_id="re_2", at=2)
    assert (first, second, row.refund_id, row.refunded_at) == ("done", "already_done", "re_1", 1)
    assert len(world.rows()) == 1


def test_a_row_stays_whatever_becomes_of_its_action(world: World) -> None:
    world.order()
    action = world.approve()
    world.ledger.create_refund(action, refund_id="re_1", at=1)
    closed = next(item for item in world.rows("action:"))
    world.ledger_table.put_item(Item=closed | {"state": "approved"})
    row, came = world.ledger.create_refund(action, refund_id="re_2", at=2)
    assert (came, row.refund_id) == ("already_done", "re_1")
    assert [each["refund_id"] for each in world.rows()] == ["re_1"]


@pytest.mark.parametrize("changed", [{"amount_minor": 1_251}, {"order_id": "A-2"}, {"currency": "USD"}])
def test_a_row_under_a_used_key_that_is_another_refund_is_refused(world: World, changed: dict[str, Any]) -> None:
    world.order()
    action = world.approve()
    world.ledger.create_refund(action, refund_id="re_1", at=1)
    before = world.rows("")
    with pytest.raises(KeyReusedError):
        world.ledger.create_refund(action.model_copy(update=changed), refund_id="re_1", at=1)
    assert world.rows("") == before


def test_no_row_is_written_without_an_open_approval(world: World) -> None:
    world.order()
    denied = world.deny()
    closed = world.approve()
    world.ledger.close_failed(closed, at=1, return_commitment=True)
    never = closed.model_copy(update={"request_id": "rf_" + 32 * "0"})
    for action in (denied, closed, never):
        with pytest.raises(NotApprovedError):
            world.ledger.create_refund(action, refund_id="re_1", at=1)
    assert world.rows() == []


def test_a_commitment_is_returned_once_and_only_where_nothing_was_paid(world: World) -> None:
    world.order()
    returned, kept = world.approve(4_000), world.approve(6_000)
    for _ in range(3):
        world.ledger.close_failed(returned, at=1, return_commitment=True)
        world.ledger.close_failed(kept, at=1, return_commitment=False)
    assert world.order_of().committed_minor == 6_000
    assert list(world.ledger.open_actions()) == []


def test_transactions_in_conflict_are_tried_again_and_at_last_given_up_unwritten(aws: Aws, world: World) -> None:
    world.order()
    with answering(aws, conflict, times=3):
        world.approve()
    before = world.rows("")
    with answering(aws, conflict, times=1_000), pytest.raises(LedgerBusyError):
        world.approve()
    assert world.rows("") == before


def test_a_conflict_that_lasts_spends_no_attempt(aws: Aws, world: World) -> None:
    world.order()
    action = world.approve()
    with answering(aws, conflict, times=1_000):
        answer = world.run(action)
    assert (answer.status, answer.reason) == ("not_started", "ledger_busy")
    assert world.run(action).status == "done"


@pytest.mark.parametrize("lost", range(3), ids=["the claim's", "the row's", "the outcome's"])
def test_a_write_whose_answer_is_lost_for_good_pays_nothing_twice(aws: Aws, world: World, lost: int) -> None:
    world.order()
    action = world.approve()
    with (
        answering(aws, applied_and_lost, skip=lost, times=1),
        suppress(IdempotencyPersistenceLayerError, ReadTimeoutError),
    ):
        world.run(action)
    for _ in range(2):
        world.now += SETTINGS.settle_s + 70
        world.reconcile()
    assert world.run(action).status == "already_done"
    assert len(world.rows()) == 1
    assert world.order_of().committed_minor == 1_250


Answering = Callable[[Callable[[], Any], str], Any]


def conflict(_apply: Callable[[], Any], operation: str) -> Any:
    if operation != "TransactWriteItems":
        return _apply()
    error: Any = {
        "Error": {"Code": "TransactionCanceledException", "Message": ""},
        "CancellationReasons": [{"Code": "TransactionConflict"}],
    }
    raise ClientError(error, operation)


def applied_and_lost(apply: Callable[[], Any], _operation: str) -> Any:
    apply()
    raise ReadTimeoutError(endpoint_url="dynamodb")


@contextmanager
def answering(aws: Aws, how: Answering, *, times: int, skip: int = 0) -> Iterator[None]:
    """The next `times` writes behind the first `skip` are answered so."""
    passed = 0

    def hook(apply: Callable[[], Any], operation: str) -> Any:
        nonlocal passed
        if operation not in WRITES:
            return apply()
        passed += 1
        return how(apply, operation) if skip < passed <= skip + times else apply()

    aws.hook = hook
    try:
        yield
    finally:
        aws.hook = None


def test_a_repeat_that_meets_its_own_first_call_at_work_is_not_told_that_nothing_was_written(
    world: World, aws: Aws
) -> None:
    world.order()
    first = world.approve(10_000)

    def half_ended(_apply: Callable[[], Any], operation: str) -> Any:
        # The first call's order is written, and its action is not yet.
        codes: Any = [{"Code": "TransactionConflict"}, {"Code": "ConditionalCheckFailed"}]
        error: Any = {"Error": {"Code": "TransactionCanceledException", "Message": ""}, "CancellationReasons": codes}
        raise ClientError(error, operation)

    with answering(aws, half_ended, times=1):
        assert world.approve(10_000, request_id=first.request_id) == first
