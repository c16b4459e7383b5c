"""The approved actions of a run, and what each of them was planned to meet."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from bench.refund_experiment.injections import BATCH, THIRD, Injection, Plan
from bench.refund_experiment.variants import Variant
from cli.cloud import Cloud
from functions.refunds.approval import Approvals, Wanted
from functions.refunds.keys import mint_request_id
from functions.refunds.ledger import Ledger
from functions.refunds.orders import paid_order
from functions.refunds.request import RefundRequest

PAID_MINOR, AMOUNT_MINOR, CURRENCY = 10_000, 1_250, "EUR"
ACTOR, WHY = "experiment", "the refund experiment"
_AT_ONCE = 8


@dataclass(frozen=True)
class Asked:
    """One approved action; without a plan nothing goes wrong in it."""

    request: RefundRequest
    plan: Plan | None

    @property
    def request_id(self) -> str:
        return self.request.request_id

    @property
    def event(self) -> dict[str, Any]:
        return asdict(self.request)


def asked_of(injection: Injection, plans: Sequence[Plan]) -> list[Asked]:
    """One action a plan, or a batch of them whose third has it."""
    size = BATCH if injection.is_batch else 1
    return [
        Asked(_request(), plan if not injection.is_batch or place == THIRD else None)
        for plan in plans
        for place in range(size)
    ]


def bring(cloud: Cloud, variant: Variant, injection: Injection, actions: Sequence[Asked], pause_s: int) -> None:
    """Store every plan, and what ours needs approved."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for _ in pool.map(lambda asked: _plan(cloud, injection, asked, pause_s), actions):
            pass
        if variant.tool.is_ours:
            for _ in pool.map(lambda asked: _approve(cloud, variant, asked.request), actions):
                pass


def disarm(cloud: Cloud, asked: Asked) -> None:
    """Nothing goes wrong in it any more, and what went wrong before is forgotten."""
    cloud.resource("dynamodb").Table(cloud.outputs["FaultsTable"]).update_item(
        Key={"request_id": asked.request_id},
        UpdateExpression="SET times_left = :none REMOVE errors",
        ExpressionAttributeValues={":none": 0},
    )


def _request() -> RefundRequest:
    return RefundRequest(mint_request_id(), f"E-{secrets.token_hex(8)}", AMOUNT_MINOR, CURRENCY)


def _plan(cloud: Cloud, injection: Injection, asked: Asked, pause_s: int) -> None:
    item: dict[str, Any] = {"request_id": asked.request_id}
    if asked.plan is not None:
        planned = {"point": asked.plan.point, "does": injection.does, "times_left": asked.plan.times}
        item |= {**planned, "seconds": pause_s}
    cloud.resource("dynamodb").Table(cloud.outputs["FaultsTable"]).put_item(Item=item)


def _approve(cloud: Cloud, variant: Variant, request: RefundRequest) -> None:
    ledger = Ledger(cloud.resource("dynamodb").Table(cloud.outputs["RowsTable"]))
    # Each has a payment of its own; the stand-in reads the amount from its name.
    payment = f"ch_{PAID_MINOR}eur_{request.request_id}" if variant.provider == "stripe" else ""
    ledger.record_order(
        paid_order(request.order_id, PAID_MINOR, request.currency, provider=variant.provider, payment=payment)
    )
    wanted = Wanted(request.order_id, request.amount_minor, request.currency)
    Approvals(ledger, limits={}).decide(wanted, "CONFIRM", actor=ACTOR, why=WHY, request_id=request.request_id)
