"""The naive stacks of the fault matrix: one request a row where nothing fails, and each with its known hole."""

from __future__ import annotations

from bench.matrix.contender import Fault, HandlerFault
from bench.matrix.naive.contender import Naive
from bench.matrix.naive.retries import AT_WORST, measured

ROWS = 12
PATIENT = {"classify_timeout_s": "25"}
HIDDEN = 0.08
"""Timeouts that a failed row is hidden for; the invocations here end by themselves."""


def test_one_row_that_always_fails_costs_the_product_of_two_retrying_layers_and_every_other_row_one_request() -> None:
    ended = measured("bare", ROWS)
    assert AT_WORST == 9
    assert ended.worst_row == AT_WORST
    assert ended.may_have_been_billed == AT_WORST + ROWS - 1
    assert ended.where == {"classified": ROWS - 1, "dead letter": 1}
    assert (ended.stored_outcomes, ended.lost, ended.deliveries) == (ROWS - 1, 0, ROWS + 2)


def test_stock_idempotency_pays_twice_for_a_row_whose_handler_raised_after_the_answer_and_once_for_the_others() -> None:
    fault = Fault(
        "raises", "it raises after the answer", ROWS, handler=HandlerFault("answered", "raise"), context=PATIENT
    )
    ended = Naive("stock", HIDDEN, handlers=1).run(fault)
    assert ended.worst_row == 2
    assert ended.model_requests == ended.may_have_been_billed == ended.deliveries == ROWS + 1
    assert ended.where == {"classified": ROWS}
    assert ended.lost == 0
