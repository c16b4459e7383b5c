"""Single reads, queries and transactions on the `refund-ledger` table."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from functions.crash_points import crossing
from functions.refunds.errors import LedgerBusyError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table

_TRIES = 12
_LONGEST_WAIT_S = 1.0


class RefusedError(Exception):
    """Conditions of a transaction did not hold; `places` are the positions of those writes, from 0."""

    def __init__(self, places: frozenset[int]) -> None:
        super().__init__("a transaction's condition did not hold; nothing was written")
        self.places = places


class LedgerPlumbing:
    """Base of the ledger. boto3 owns the retries of a single call; every write is a transaction or has a condition.

    What calls DynamoDB here takes the name of the domain's operation first: the name of the call's crash points.
    """

    def __init__(self, table: Table, *, sleep: Callable[[float], None] = time.sleep) -> None:
        # The resource's client takes Python values, and unlike the resource may be shared by threads.
        self._client: Any = table.meta.client
        self._name = table.name
        self._sleep = sleep

    def _get(self, operation: str, key: dict[str, str]) -> dict[str, Any] | None:
        """Strongly consistent: what was approved a moment ago is approved."""
        with crossing(operation):
            answer = self._client.get_item(TableName=self._name, Key=key, ConsistentRead=True)
        item: dict[str, Any] | None = answer.get("Item")
        return item

    def _query(self, operation: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        start: dict[str, Any] = {}
        while True:
            with crossing(operation):
                page: Any = self._client.query(TableName=self._name, **arguments, **start)
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def _transact(self, operation: str, *writes: dict[str, dict[str, Any]]) -> None:
        """All of the writes or none. Raises RefusedError and LedgerBusyError.

        boto3 gives a transaction a token, so its repeat after a lost response is the same one.
        """
        items: list[Any] = [
            {kind: {"TableName": self._name, **request}} for write in writes for kind, request in write.items()
        ]
        for attempt in range(_TRIES):
            try:
                with crossing(operation):
                    self._client.transact_write_items(TransactItems=items)
            except ClientError as error:
                _raise_unless_conflict(error)
                # Another transaction is at work on the same items, and boto3 does not repeat this one by itself.
                self._sleep(random.uniform(0, min(_LONGEST_WAIT_S, 0.05 * 2**attempt)))
            else:
                return
        raise LedgerBusyError


def _raise_unless_conflict(error: ClientError) -> None:
    reasons: list[Any] = list(error.response.get("CancellationReasons", ()))
    codes = [reason.get("Code", "None") for reason in reasons]
    said = set(codes) - {"None"}
    if "TransactionConflict" in said and said <= {"TransactionConflict", "ConditionalCheckFailed"}:
        # What did not hold may be the other transaction's doing, and that one an earlier call of this very write: which
        # conditions it leaves unmet is told once it has ended.
        return
    if "ConditionalCheckFailed" in said:
        raise RefusedError(frozenset(n for n, code in enumerate(codes) if code == "ConditionalCheckFailed")) from None
    raise error
