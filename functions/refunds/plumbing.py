"""Single reads, queries and transactions on the `refund-ledger` table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from functions.crash_points import crossing
from functions.refunds.errors import LedgerBusyError
from functions.transactions import met_another, until_alone

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table

_TRIES = 12


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
        """All of the writes or none. Raises TransactionRefusedError and LedgerBusyError."""
        items: list[Any] = [
            {kind: {"TableName": self._name, **request}} for write in writes for kind, request in write.items()
        ]
        try:
            for attempt in until_alone(_TRIES, self._sleep):
                with attempt, crossing(operation):
                    self._client.transact_write_items(TransactItems=items)
        except ClientError as error:
            if met_another(error):
                raise LedgerBusyError from None
            raise
