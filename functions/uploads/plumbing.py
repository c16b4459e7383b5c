"""What every part of the `prospects` table is written with: conditional updates, transactions, paged queries."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from boto3.dynamodb.conditions import ConditionBase
from botocore.exceptions import ClientError

from functions.clock import Clock, wall_clock
from functions.crash_points import crossing
from functions.transactions import TransactionRefusedError, refused_by_condition, until_alone

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table

_TRANSACTION_TRIES = 6
_OUTLIVES_META_DAYS = 30


class ItemsTable:
    """Base of the table's parts. boto3 owns the retries of a single call.

    What calls DynamoDB here takes the name of the domain's operation first: the name of the call's crash points.

    `retention_days`: how long an upload is kept after its end; None keeps what is written here for good.
    """

    def __init__(
        self,
        table: Table,
        *,
        retention_days: int | None = None,
        clock: Clock = wall_clock,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        # The resource's client takes Python values, and unlike the resource may be shared by threads.
        self._client: Any = table.meta.client
        self._name = table.name
        self._retention_days = retention_days
        self._clock = clock
        self._sleep = sleep

    def _expiry(self, now: int) -> dict[str, int]:
        """The TTL of what must outlive its upload's META, which counts from the later end of the upload."""
        if self._retention_days is None:
            return {}
        return {"expires_at": now + (self._retention_days + _OUTLIVES_META_DAYS) * 86_400}

    def _kept_from(self, created_at: int) -> dict[str, int]:
        """Until when everything that is written of an upload is certainly there."""
        if self._retention_days is None:
            return {}
        return {"rows_kept_until": created_at + self._retention_days * 86_400}

    def _get(self, operation: str, key: dict[str, str], *, consistent: bool = True) -> dict[str, Any] | None:
        with crossing(operation):
            item: dict[str, Any] | None = self._client.get_item(
                TableName=self._name, Key=key, ConsistentRead=consistent
            ).get("Item")
        return item

    def _query(self, operation: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        for page in self._pages(operation, **arguments):
            yield from page["Items"]

    def _pages(self, operation: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        start: dict[str, Any] = {}
        while True:
            with crossing(operation):
                page: Any = self._client.query(TableName=self._name, **arguments, **start)
            yield page
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    def _try_update(
        self,
        operation: str,
        key: dict[str, str],
        values: dict[str, Any],
        condition: ConditionBase | str,
        *,
        add: dict[str, int] | None = None,
        copy: dict[str, str] | None = None,
    ) -> dict[str, Any] | None:
        """The item as it is after the update; None: the condition did not hold."""
        try:
            return self._update(operation, key, values, condition, add=add, copy=copy)
        except ClientError as error:
            if not refused_by_condition(error):
                raise
            return None

    def _update(
        self,
        operation: str,
        key: dict[str, str],
        values: dict[str, Any],
        condition: ConditionBase | str,
        *,
        add: dict[str, int] | None = None,
        copy: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        request = self._update_request(values, condition, add=add, copy=copy)
        with crossing(operation):
            answer = self._client.update_item(TableName=self._name, Key=key, ReturnValues="ALL_NEW", **request)
        attributes: dict[str, Any] = answer["Attributes"]
        return attributes

    @staticmethod
    def _update_request(
        values: dict[str, Any],
        condition: ConditionBase | str,
        *,
        add: dict[str, int] | None = None,
        remove: tuple[str, ...] = (),
        copy: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        """The parts of an update; every name is a placeholder, since DynamoDB reserves many ("size", "state").

        `copy` sets numbers from what other attributes were before the update, 0 where there were none.
        """
        copies = copy or {}
        set_copies = [f"#{name} = if_not_exists(#{source}, :zero)" for name, source in copies.items()]
        sets = ", ".join([*(f"#{name} = :{name}" for name in values), *set_copies])
        adds = ", ".join(f"#{name} :{name}" for name in add or {})
        removes = ", ".join(f"#{name}" for name in remove)
        everything = {**values, **(add or {})}
        return {
            "UpdateExpression": f"SET {sets}"
            + (f" ADD {adds}" if adds else "")
            + (f" REMOVE {removes}" if removes else ""),
            "ConditionExpression": condition,
            "ExpressionAttributeNames": {
                f"#{name}": name for name in (*everything, *remove, *copies, *copies.values())
            },
            "ExpressionAttributeValues": {f":{name}": value for name, value in everything.items()}
            | ({":zero": 0} if copies else {}),
        }

    def _transact(self, operation: str, *writes: dict[str, dict[str, Any]]) -> None:
        """All of the writes or none. Raises TransactionRefusedError."""
        items: list[Any] = [
            {kind: {"TableName": self._name, **request}} for write in writes for kind, request in write.items()
        ]
        for attempt in until_alone(_TRANSACTION_TRIES, self._sleep):
            with attempt, crossing(operation):
                self._client.transact_write_items(TransactItems=items)

    def _try_transact(self, operation: str, *writes: dict[str, dict[str, Any]]) -> bool:
        """False: a condition did not hold, and nothing was written."""
        try:
            self._transact(operation, *writes)
        except TransactionRefusedError:
            return False
        return True
