"""The refund tool on moto: both tables, the use cases, a clock that tests move, and providers that tests script."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import boto3

from functions.effects.record import EffectRecord
from functions.effects.resolve import Resolver
from functions.effects.table import EffectTable
from functions.refunds.approval import Approvals, Wanted
from functions.refunds.closing import Closing
from functions.refunds.effect import build_store, guard
from functions.refunds.keys import effect_id
from functions.refunds.ledger import Ledger
from functions.refunds.model import Action, Order, ProviderName
from functions.refunds.providers.ledger import LedgerProvider
from functions.refunds.providers.protocol import Provider
from functions.refunds.refund import Refund
from functions.refunds.settings import ReconcileSettings

NOW = 1_800_000_000.0
INVOCATION_S = 60.0
SETTINGS = ReconcileSettings(refund_ledger_table="refund-ledger", idempotency_table="idempotency")
_WRITES = {"PutItem", "UpdateItem", "TransactWriteItems", "DeleteItem"}


def create_tables(dynamodb: Any) -> None:
    """Both tables, as the stacks have them."""
    dynamodb.create_table(
        TableName="idempotency",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    dynamodb.create_table(
        TableName="refund-ledger",
        KeySchema=[{"AttributeName": "row_id", "KeyType": "HASH"}],
        AttributeDefinitions=[
            {"AttributeName": "row_id", "AttributeType": "S"},
            {"AttributeName": "open", "AttributeType": "S"},
            {"AttributeName": "decided_at", "AttributeType": "N"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "open-actions",
                "KeySchema": [
                    {"AttributeName": "open", "KeyType": "HASH"},
                    {"AttributeName": "decided_at", "KeyType": "RANGE"},
                ],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )


class World:
    """One deployment. Requests to DynamoDB are applied one at a time, as the service does and moto does not."""

    def __init__(self) -> None:
        dynamodb = boto3.resource("dynamodb", region_name="eu-west-1")
        create_tables(dynamodb)
        self.now = NOW
        self.requests: Counter[str] = Counter()
        self._apply_one_at_a_time(dynamodb.meta.client)
        self.ledger_table = dynamodb.Table("refund-ledger")
        self.idempotency_table = dynamodb.Table("idempotency")
        self.ledger = Ledger(self.ledger_table, sleep=lambda _s: None)
        self.effects = EffectTable(self.idempotency_table)
        self.providers: dict[ProviderName, Provider] = {"ledger": LedgerProvider(self.ledger, self.clock)}
        self.approvals = Approvals(self.ledger, limits={"EUR": 5_000}, clock=self.clock)
        self.resolver = Resolver(self.effects, retention_days=None, clock=self.clock)

    def clock(self) -> float:
        return self.now

    @property
    def writes(self) -> int:
        """Write requests so far, refused ones included; a transaction is one."""
        return sum(count for name, count in self.requests.items() if name in _WRITES)

    @property
    def refund(self) -> Refund:
        """A new process: nothing of it is shared with another."""
        store = build_store(self.idempotency_table, SETTINGS, self.clock)
        guarded = guard(store, self.providers, provider_deadline_s=SETTINGS.provider_deadline_s, clock=self.clock)
        return Refund(ledger=self.ledger, guarded=guarded, closing=Closing(self.ledger, self.clock), clock=self.clock)

    def order(self, order_id: str = "A-1", paid_minor: int = 10_000, provider: ProviderName = "ledger") -> None:
        payment = "" if provider == "ledger" else "ch_1"
        self.ledger.record_order(
            Order(order_id=order_id, currency="EUR", paid_minor=paid_minor, provider=provider, payment=payment)
        )

    def approve(self, amount_minor: int = 1_250, order_id: str = "A-1", request_id: str | None = None) -> Action:
        wanted = Wanted(order_id, amount_minor, "EUR")
        return self.approvals.decide(wanted, "CONFIRM", actor="ann", why="asked for", request_id=request_id)

    def run(self, action: Action) -> Any:
        return self.refund.run(action.request, deadline=self.now + INVOCATION_S)

    def record(self, action: Action) -> EffectRecord | None:
        return self.effects.read(effect_id(action.request_id))

    def rows(self, prefix: str = "refund:") -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.ledger_table.scan(ConsistentRead=True)["Items"]
        return [item for item in items if item["row_id"].startswith(prefix)]

    def _apply_one_at_a_time(self, client: Any) -> None:
        lock, requests, send = threading.RLock(), self.requests, client._make_api_call

        def one_at_a_time(operation: str, arguments: dict[str, Any]) -> Any:
            with lock:
                requests[operation] += 1
                return send(operation, arguments)

        client._make_api_call = one_at_a_time


def threads_at_once(count: int, call: Callable[[int], Any]) -> list[Any]:
    """What `count` threads returned or raised, all let go at the same moment."""
    start, results = threading.Barrier(count), [None] * count

    def run(number: int) -> None:
        start.wait()
        try:
            results[number] = call(number)
        except Exception as error:  # noqa: BLE001 - the test looks at it
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
