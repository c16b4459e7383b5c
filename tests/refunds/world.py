"""The refund tool on moto: both tables, the use cases, a clock that tests move, and providers that tests script."""

from __future__ import annotations

import secrets
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import boto3

from functions.effects.claims import Claims
from functions.effects.record import EffectRecord
from functions.effects.resolve import Resolver
from functions.effects.table import EffectTable
from functions.refunds.approval import Approvals, Wanted
from functions.refunds.asking import Asking
from functions.refunds.closing import Closing
from functions.refunds.effect import build_store, guard
from functions.refunds.keys import effect_id
from functions.refunds.ledger import Ledger
from functions.refunds.model import Action, Order, ProviderName
from functions.refunds.orders import paid_order
from functions.refunds.providers.ledger import LedgerProvider
from functions.refunds.providers.protocol import Provider
from functions.refunds.reconcile import Reconciler
from functions.refunds.refund import Refund
from functions.refunds.resolve import Resolve
from functions.refunds.settings import ReconcileSettings

NOW = 1_800_000_000.0
INVOCATION_S = 60.0
SETTINGS = ReconcileSettings(refund_ledger_table="refund-ledger", idempotency_table="idempotency")
WRITES = {"PutItem", "UpdateItem", "TransactWriteItems", "DeleteItem"}


class Aws:
    """DynamoDB on moto. Requests are applied one at a time, as the service does and moto does not."""

    def __init__(self) -> None:
        self.dynamodb = boto3.resource("dynamodb", region_name="eu-west-1")
        self.requests: Counter[str] = Counter()
        self.hook: Callable[[Callable[[], Any], str], Any] | None = None
        client: Any = self.dynamodb.meta.client
        lock, send = threading.RLock(), client._make_api_call

        def one_at_a_time(operation: str, arguments: dict[str, Any]) -> Any:
            with lock:
                self.requests[operation] += 1
                if self.hook is not None:
                    return self.hook(lambda: send(operation, arguments), operation)
                return send(operation, arguments)

        client._make_api_call = one_at_a_time

    def create_tables(self) -> tuple[Any, Any]:
        """The ledger and the idempotency table, as the stacks have them, under names of their own."""
        number = secrets.token_hex(4)
        keys = {"row_id": "S", "open": "S", "decided_at": "N"}
        ledger = self.dynamodb.create_table(
            TableName=f"refund-ledger-{number}",
            KeySchema=[{"AttributeName": "row_id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": kind} for name, kind in keys.items()],
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
        idempotency = self.dynamodb.create_table(
            TableName=f"idempotency-{number}",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        return ledger, idempotency


class World:
    """One deployment."""

    def __init__(self, aws: Aws) -> None:
        self.now = NOW
        self._aws = aws
        self.dynamodb: Any = aws.dynamodb
        self.ledger_table, self.idempotency_table = aws.create_tables()
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
        return sum(count for name, count in self._aws.requests.items() if name in WRITES)

    @property
    def refund(self) -> Refund:
        """A new process: nothing of it is shared with another."""
        store = build_store(self.idempotency_table, SETTINGS, self.clock)
        guarded = guard(store, self.providers, provider_deadline_s=SETTINGS.provider_deadline_s, clock=self.clock)
        closing = Closing(self.ledger, self.clock)
        return Refund(ledger=self.ledger, guarded=guarded, closing=closing, asking=self.asking, clock=self.clock)

    @property
    def asking(self) -> Asking:
        return Asking(self.providers, self.resolver, settle_s=SETTINGS.settle_s, clock=self.clock)

    @property
    def reconciler(self) -> Reconciler:
        return Reconciler(
            ledger=self.ledger,
            effects=self.effects,
            claims=Claims(self.effects, max_paid_attempts=1, retention_days=None, clock=self.clock),
            refund=self.refund,
            asking=self.asking,
            closing=Closing(self.ledger, self.clock),
            abandoned_s=SETTINGS.abandoned_s,
            call_s=2 * SETTINGS.provider_deadline_s,
            clock=self.clock,
        )

    def reconcile(self) -> list[str]:
        """The verdicts of one pass, the oldest action first."""
        return [each.verdict for each in self.reconciler.run(deadline=self.now + 900).looked]

    @property
    def resolve(self) -> Resolve:
        return Resolve(self.ledger, self.effects, self.resolver, Closing(self.ledger, self.clock))

    def order(self, order_id: str = "A-1", *, provider: ProviderName = "ledger", payment: str = "") -> None:
        """Of 100.00 EUR."""
        self.ledger.record_order(paid_order(order_id, 10_000, "EUR", provider=provider, payment=payment))

    def order_of(self, order_id: str = "A-1") -> Order:
        order = self.ledger.get_order(order_id)
        assert order is not None
        return order

    def approve(self, amount_minor: int = 1_250, order_id: str = "A-1", request_id: str | None = None) -> Action:
        wanted = Wanted(order_id, amount_minor, "EUR")
        return self.approvals.decide(wanted, "CONFIRM", actor="ann", why="asked for", request_id=request_id)

    def deny(self, amount_minor: int = 1_250) -> Action:
        return self.approvals.decide(Wanted("A-1", amount_minor, "EUR"), "DENY", actor="ann", why="no")

    def run(self, action: Action) -> Any:
        return self.refund.run(action.request, deadline=self.now + INVOCATION_S)

    def record(self, action: Action) -> EffectRecord | None:
        return self.effects.read(effect_id(action.request_id))

    def rows(self, prefix: str = "refund:") -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.ledger_table.scan(ConsistentRead=True)["Items"]
        return [item for item in items if item["row_id"].startswith(prefix)]


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
