"""The terminal items of rows: written once, counted exactly, read back in the order of the file."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from boto3.dynamodb.conditions import Attr, Key
from botocore.exceptions import ClientError

from functions.uploads.keys import META, SHARDS, row_address, shard_pk
from functions.uploads.model import RowItem

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table


_OUTLIVES_META_DAYS = 30
_MERGED_PAGE = 500
"""Items a page while merging: 16 whole pages of 1 MB would be some 100 MB of Python objects."""


class RowsTable:
    """Row items in the `prospects` table, spread over the shards of their upload.

    `retention_days`: how long an upload is kept after its end; None keeps what is written here for good.
    """

    def __init__(self, table: Table, *, retention_days: int | None = None) -> None:
        # The resource's client takes Python values, and unlike the resource may be shared by threads.
        self._client: Any = table.meta.client
        self._name = table.name
        self._retention_days = retention_days

    def put_row(self, row: RowItem) -> bool:
        """Write a row's terminal item. False: it has one, which stays: a late or duplicate run overwrites nothing."""
        # What is unknown waits for a person, however long.
        expiry = {} if row.outcome == "unknown" else self._expiry(row.finished_at)
        try:
            self._client.put_item(
                TableName=self._name,
                Item={**row_address(row.upload_id, row.row_number), **row.to_item(), **expiry},
                ConditionExpression=Attr("pk").not_exists(),
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            return False
        return True

    def get_row(self, upload_id: str, row_number: int) -> RowItem | None:
        item = self._get(row_address(upload_id, row_number))
        return RowItem.from_item(item) if item else None

    def count_rows(self, upload_id: str) -> int:
        """The exact number of rows with a terminal item, over every page of every shard.

        Not a consistent read: items are never removed, so a stale page can only count too few, and the next look
        finds the rest.
        """
        return sum(
            page["Count"]
            for shard in range(SHARDS)
            for page in self._pages(KeyConditionExpression=_rows_of(upload_id, shard), Select="COUNT")
        )

    def iter_rows(self, upload_id: str) -> Iterator[RowItem]:
        """Every row item in row order: the shards are sorted, so merging their pages needs one page of each at most."""
        shards = (
            self._query(KeyConditionExpression=_rows_of(upload_id, shard), ConsistentRead=True, Limit=_MERGED_PAGE)
            for shard in range(SHARDS)
        )
        for item in heapq.merge(*shards, key=lambda item: str(item["sk"])):
            yield RowItem.from_item(item)

    def _expiry(self, now: int) -> dict[str, int]:
        """The TTL of what must outlive its upload's META, which counts from the later end of the upload."""
        if self._retention_days is None:
            return {}
        return {"expires_at": now + (self._retention_days + _OUTLIVES_META_DAYS) * 86_400}

    def _get(self, key: dict[str, str], *, consistent: bool = True) -> dict[str, Any] | None:
        item: dict[str, Any] | None = self._client.get_item(
            TableName=self._name, Key=key, ConsistentRead=consistent
        ).get("Item")
        return item

    def _query(self, **arguments: Any) -> Iterator[dict[str, Any]]:
        for page in self._pages(**arguments):
            yield from page["Items"]

    def _pages(self, **arguments: Any) -> Iterator[dict[str, Any]]:
        start: dict[str, Any] = {}
        while True:
            page: Any = self._client.query(TableName=self._name, **arguments, **start)
            yield page
            if "LastEvaluatedKey" not in page:
                return
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def _rows_of(upload_id: str, shard: int) -> Any:
    return Key("pk").eq(shard_pk(upload_id, shard)) & Key("sk").lt(META)
