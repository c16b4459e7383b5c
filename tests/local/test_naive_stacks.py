"""The naive stacks of the fault matrix: one request a row where nothing fails, and each with its known hole."""

from __future__ import annotations

from dataclasses import replace

from bench.matrix.contender import Fault, HandlerFault
from bench.matrix.naive.contender import NaiveContender
from bench.matrix.naive.retries import ALWAYS_500, AT_WORST

ROWS = 12
HIDDEN = 0.08
"""Of the function's timeout. The invocations here end by themselves, so this is only how long a failure waits."""


def test_one_row_that_always_fails_costs_the_product_of_two_retrying_layers_and_every_other_row_one_request() -> None:
    fault = replace(ALWAYS_500, rows=ROWS, context={})
    ended = NaiveContender("bare", HIDDEN, handlers=1).run(fault)
    assert AT_WORST == 9
    assert ended.worst_row == AT_WORST
    assert ended.may_have_been_billed == AT_WORST + ROWS - 1
    assert ended.where == {"classified": ROWS - 1, "dead letter": 1}
    assert (ended.stored_outcomes, ended.lost, ended.deliveries) == (ROWS - 1, 0, ROWS + 2)


def test_stock_idempotency_pays_twice_for_a_row_whose_handler_raised_after_the_answer_and_once_for_the_others() -> None:
    fault = Fault("raises", "the handler raises after the answer", rows=ROWS, handler=HandlerFault("answered", "raise"))
    ended = NaiveContender("stock", HIDDEN, handlers=1).run(fault)
    assert ended.worst_row == 2
    assert ended.model_requests == ended.may_have_been_billed == ended.deliveries == ROWS + 1
    assert ended.where == {"classified": ROWS}
    assert ended.lost == 0
