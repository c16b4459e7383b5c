"""A local cloud with the refund tool, and what callers do with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from functions.refunds.approval import Approvals, Wanted
from functions.refunds.keys import mint_request_id
from functions.refunds.ledger import Ledger
from functions.refunds.orders import paid_order
from functions.refunds.request import RefundRequest
from local.cloud import up
from local.options import LocalCloudOptions
from local.running import RunningCloud
from local.state import DEFAULT_STATE_FILE, down, find_running
from tests.local.toy import wait_for

AMOUNT = 1_250


class RefundCloud:
    """Stays in `folder`, where the commands find it. Every order is of 100.00 EUR, paid at the stand-in."""

    def __init__(self, folder: Path, running: RunningCloud) -> None:
        self.folder = folder
        self.running = running
        self.outputs = running.outputs
        self.ledger = Ledger(running.resource("dynamodb").Table(self.outputs["RefundLedgerTableName"]))
        self._orders = 0

    def client(self, service: str) -> Any:
        return self.running.client(service)

    def approved(self, request_id: str | None = None) -> RefundRequest:
        """A new order, and an action on it that a person approved."""
        self._orders += 1
        order_id = f"A-{self._orders}"
        payment = f"ch_10000eur_{self._orders}"
        self.ledger.record_order(paid_order(order_id, 10_000, "EUR", provider="stripe", payment=payment))
        wanted = Wanted(order_id, AMOUNT, "EUR")
        approvals = Approvals(self.ledger, limits={})
        action = approvals.decide(
            wanted, "CONFIRM", actor="ann", why="a test", request_id=request_id or mint_request_id()
        )
        return action.request

    def invoke(self, worker: str, event: object) -> tuple[str, dict[str, Any]]:
        """The type of the error, if any, and the payload."""
        answer = self.client("lambda").invoke(
            FunctionName=self.outputs[f"Refund{worker}FunctionName"], Payload=json.dumps(event).encode()
        )
        payload = json.loads(answer["Payload"].read())
        return (payload["errorType"] if "FunctionError" in answer else ""), payload

    def call(self, request: RefundRequest, **changes: Any) -> tuple[str, dict[str, Any]]:
        return self.invoke("Tool", {**asdict(request), **changes})

    def made(self, request: RefundRequest) -> int:
        """How many refunds the provider has of this action."""
        found: Mapping[str, int] = self.running.refunds()["by_request_id"]
        return found.get(request.request_id, 0)

    def wait_until_refunded(self, request: RefundRequest) -> None:
        wait_for(lambda: self.ledger.get_refund(request.request_id), deadline_s=60)


@contextmanager
def refund_cloud(folder: Path, rules: list[Any]) -> Iterator[RefundCloud]:
    script = folder / "payments.json"
    script.write_text(json.dumps({"rules": rules}))
    # The reconciler runs when a test says so.
    context = {"refunds": "true", "reconcile_s": "3600", "refund_limits": "EUR=5000"}
    state = folder / DEFAULT_STATE_FILE
    up(LocalCloudOptions(payments_script=script, context=context), progress=lambda _stage: None, path=state)
    try:
        running = find_running(state)
        assert running is not None
        yield RefundCloud(folder, running)
    finally:
        down(state)
