"""The terminal items of rows: written once, counted exactly, read back in the order of the file.

A row that an operator has reopened keeps its item, marked, until the next outcome of its key replaces it; till then it
counts as open. Beside that, only an outcome that could still change (unknown, retryable failure) is ever replaced.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import and_
from typing import Any

from boto3.dynamodb.conditions import Attr, ConditionBase, Key
from botocore.exceptions import ClientError

from functions.batch_get import batch_get
from functions.crash_points import crossing
from functions.transactions import refused_by_condition
from functions.uploads.keys import META, SHARDS, row_address, shard_pk
from functions.uploads.model import ATTENTION, ATTENTION_INDEX, AttentionRow, RowItem
from functions.uploads.plumbing import ItemsTable

_MERGED_PAGE = 500
"""Items a page while merging: 16 whole pages of 1 MB would be some 100 MB of Python objects."""
_ENDED = Attr("reopened").not_exists()


class RowsTable(ItemsTable):
    """Row items in the `prospects` table, spread over the shards of their upload."""

    def put_row(self, row: RowItem) -> bool:
        """Write a row's terminal item. False: it has one, which stays: a late or duplicate run overwrites nothing."""
        return self._put("uploads.put_row", row, Attr("pk").not_exists() | Attr("reopened").exists())

    def replace_row(self, row: RowItem, seen: AttentionRow) -> bool:
        """Put the later outcome of a key in place of one that could still change. False: it was replaced already."""
        as_seen = Attr(ATTENTION).exists() & Attr("outcome").eq(seen.outcome) & Attr("attempt").eq(seen.attempt)
        return self._put("uploads.replace_row", row, as_seen)

    def reopen_row(self, row: RowItem) -> bool:
        """Count a row as open again. False: its outcome is not one that could still change, or was replaced."""
        condition = Attr(ATTENTION).exists() & Attr("attempt").eq(row.attempt)
        address = row_address(row.upload_id, row.row_number)
        return self._try_update("uploads.reopen_row", address, {"reopened": True}, condition) is not None

    def _put(self, operation: str, row: RowItem, condition: ConditionBase) -> bool:
        # What is unknown waits for a person, however long.
        expiry = {} if row.outcome == "unknown" else self._expiry(row.finished_at)
        try:
            with crossing(operation):
                self._client.put_item(
                    TableName=self._name,
                    Item={**row_address(row.upload_id, row.row_number), **row.to_item(), **expiry},
                    ConditionExpression=condition,
                )
        except ClientError as error:
            if not refused_by_condition(error):
                raise
            return False
        return True

    def get_row(self, upload_id: str, row_number: int) -> RowItem | None:
        """The row's terminal item; None while it is open."""
        item = self._get("uploads.get_row", row_address(upload_id, row_number))
        return RowItem.from_item(item) if item and "reopened" not in item else None

    def rows_as_they_are(self, rows: Iterable[AttentionRow]) -> Iterator[tuple[RowItem, bool]]:
        """The items of these rows, in no order, each with whether an operator has reopened it; read consistently."""
        keys = [{"pk": row.pk, "sk": row.sk} for row in rows]
        for item in batch_get(self._batch_get_rows, self._name, keys, sleep=self._sleep, consistent=True):
            yield RowItem.from_item(item), "reopened" in item

    def _batch_get_rows(self, request: dict[str, Any]) -> dict[str, Any]:
        with crossing("uploads.rows_as_they_are"):
            answer: dict[str, Any] = self._client.batch_get_item(RequestItems=request)
        return answer

    def attention_rows(self, **only: str) -> Iterator[AttentionRow]:
        """Rows of every upload whose outcome could still change, from the sparse index (eventually consistent).

        `only` narrows them to those with these values of `upload_id`, `key` or `outcome`.
        """
        narrowed: dict[str, Any] = {}
        if only:
            narrowed["FilterExpression"] = reduce(and_, (Attr(name).eq(value) for name, value in only.items()))
        query = self._query(
            "uploads.attention_rows",
            IndexName=ATTENTION_INDEX,
            KeyConditionExpression=Key(ATTENTION).eq(ATTENTION),
            **narrowed,
        )
        return (AttentionRow.from_item(item) for item in query)

    def count_rows(self, upload_id: str) -> int:
        """The exact number of rows with a terminal item, over every page of every shard.

        Not a consistent read: a stale page can only count too few (the next look finds the rest) or a row that an
        operator reopened a moment ago, of which the results, read consistently, disagree.
        """
        return sum(
            page["Count"]
            for shard in range(SHARDS)
            for page in self._pages(
                "uploads.count_rows",
                KeyConditionExpression=_rows_of(upload_id, shard),
                FilterExpression=_ENDED,
                Select="COUNT",
            )
        )

    def iter_rows(self, upload_id: str) -> Iterator[RowItem]:
        """Every row item in row order: the shards are sorted, so merging their pages needs one page of each at most."""
        shards = (
            self._query(
                "uploads.iter_rows",
                KeyConditionExpression=_rows_of(upload_id, shard),
                FilterExpression=_ENDED,
                ConsistentRead=True,
                Limit=_MERGED_PAGE,
            )
            for shard in range(SHARDS)
        )
        for item in heapq.merge(*shards, key=lambda item: str(item["sk"])):
            yield RowItem.from_item(item)


def _rows_of(upload_id: str, shard: int) -> Any:
    return Key("pk").eq(shard_pk(upload_id, shard)) & Key("sk").lt(META)
