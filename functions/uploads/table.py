"""The `prospects` table: uploads, object versions and what is open. Every write is conditional; a repeat is harmless.

Rows have a module of their own, `rows.py`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from boto3.dynamodb.conditions import Attr, ConditionBase, Key
from botocore.exceptions import ClientError

from functions.clock import Clock, wall_clock
from functions.uploads.keys import meta_address, object_address, open_address
from functions.uploads.model import Announcement, Finished, ObjectItem, OpenUpload, Upload
from functions.uploads.rows import RowsTable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table

_TRANSACTION_TRIES = 6
_UNSETTLED = Attr("upload_id").not_exists() & Attr("refusal").not_exists()
_UNSETTLED_EXPRESSION = "attribute_not_exists(upload_id) AND attribute_not_exists(refusal)"


def refused_by_condition(error: ClientError) -> bool:
    """Whether DynamoDB refused a write because its condition did not hold."""
    return error.response["Error"]["Code"] == "ConditionalCheckFailedException"


class UploadsTable(RowsTable):
    """Uploads in the `prospects` table. `table` is boto3's Table resource, which owns the retries of a single call."""

    def __init__(
        self,
        table: Table,
        *,
        retention_days: int | None = None,
        clock: Clock = wall_clock,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(table, retention_days=retention_days)
        self._clock = clock
        self._sleep = sleep

    # --- object versions -------------------------------------------------------------------------------------------

    def begin_object(self, object_key: str, version_id: str, size: int) -> ObjectItem:
        """Count one more attempt at this version and return its item; a settled version is returned as it is."""
        try:
            item = self._update(
                object_address(object_key, version_id),
                {"object_key": object_key, "version_id": version_id, "size": size, **self._expiry(int(self._clock()))},
                _UNSETTLED,
                add={"attempts": 1},
            )
        except ClientError as error:
            if not refused_by_condition(error):
                raise
            found = self.get_object(object_key, version_id)
            if found is None:
                raise
            return found
        return ObjectItem.from_item(item)

    def get_object(self, object_key: str, version_id: str) -> ObjectItem | None:
        item = self._get(object_address(object_key, version_id))
        return ObjectItem.from_item(item) if item else None

    def refuse_object(self, object_key: str, version_id: str, code: str, sentence: str) -> bool:
        """Settle this version as refused. False: it was settled before, and stays so."""
        return self._settle(object_key, version_id, {"refusal": code, "sentence": sentence})

    def join_object(self, object_key: str, version_id: str, upload_id: str) -> bool:
        """Settle this version as a repeat of an upload that exists. False: it was settled before, and stays so."""
        return self._settle(object_key, version_id, {"upload_id": upload_id, "first": False})

    def _settle(self, object_key: str, version_id: str, values: dict[str, Any]) -> bool:
        try:
            self._update(object_address(object_key, version_id), values, _UNSETTLED)
        except ClientError as error:
            if not refused_by_condition(error):
                raise
            return False
        return True

    # --- uploads ---------------------------------------------------------------------------------------------------

    def admit(self, upload: Upload) -> bool:
        """Write META, OPEN and the object's settlement in one transaction. False: META or the settlement existed.

        boto3 gives the transaction a token, so a repeat after a lost response is the same transaction.
        """
        settled = self._update_request({"upload_id": upload.upload_id, "first": True}, _UNSETTLED_EXPRESSION)
        still_open = OpenUpload(upload_id=upload.upload_id).to_item()
        return self._transact(
            {
                "Put": {
                    "Item": {**meta_address(upload.upload_id), **upload.to_item()},
                    "ConditionExpression": "attribute_not_exists(pk)",
                }
            },
            {"Put": {"Item": {**open_address(upload.upload_id), **still_open}}},
            {"Update": {"Key": object_address(upload.object_key, upload.version_id), **settled}},
        )

    def get_upload(self, upload_id: str, *, consistent: bool = True) -> Upload | None:
        item = self._get(meta_address(upload_id), consistent=consistent)
        return Upload.from_item(item) if item else None

    def take_publishing(self, upload_id: str, generation: int, *, now: int, until: int) -> Upload | None:
        """Become the publisher until `until`. None: not running, published, another generation, or another is alive."""
        condition = (
            Attr("state").eq("running")
            & Attr("generation").eq(generation)
            & Attr("published").eq(False)  # noqa: FBT003
            & Attr("publisher_until").lt(now)
        )
        return self._update_upload(upload_id, {"publisher_until": until}, condition)

    def advance_checkpoint(self, upload_id: str, generation: int, checkpoint: int) -> Upload | None:
        """Move the checkpoint forward, never back. None: no longer running, another generation, or it was further."""
        condition = Attr("state").eq("running") & Attr("generation").eq(generation) & Attr("checkpoint").lt(checkpoint)
        return self._update_upload(upload_id, {"checkpoint": checkpoint}, condition)

    def leave_publishing(self, upload_id: str, generation: int, *, published: bool) -> Upload | None:
        """Stop being the publisher; with `published`, for good in this generation."""
        return self._update_upload(
            upload_id,
            {"publisher_until": 0, "published": published},
            Attr("generation").eq(generation) & Attr("published").eq(False),  # noqa: FBT003
        )

    def finish(self, upload: Upload, finished: Finished, announcement: Announcement) -> bool:
        """Set `done` with its counts and results and put its announcement into the outbox, in one transaction.

        False: it is no longer running in the revision that was read; somebody else finished or reopened it.
        """
        done = self._update_request(
            {"state": "done", "revision": upload.revision + 1, **finished.to_item()},
            "#state = :running AND #revision = :seen",
        )
        done["ExpressionAttributeValues"] |= {":running": "running", ":seen": upload.revision}
        outbox = self._update_request({"announcement": announcement.to_item()}, "attribute_exists(pk)")
        return self._transact(
            {"Update": {"Key": meta_address(upload.upload_id), **done}},
            {"Update": {"Key": open_address(upload.upload_id), **outbox}},
        )

    def announced(self, upload_id: str, revision: int) -> None:
        """Close an upload whose announcement went out; one reopened meanwhile stays open."""
        try:
            self._client.delete_item(
                TableName=self._name,
                Key=open_address(upload_id),
                ConditionExpression=Attr("announcement.revision").eq(revision),
            )
        except ClientError as error:
            if not refused_by_condition(error):
                raise

    # --- what is open ----------------------------------------------------------------------------------------------

    def open_uploads(self) -> Iterator[OpenUpload]:
        for item in self._query(KeyConditionExpression=Key("pk").eq("OPEN"), ConsistentRead=True):
            yield OpenUpload.from_item(item)

    def claim_look(self, seen: OpenUpload, until: int) -> bool:
        """Be the only tick at work on this upload until then. False: another tick is, or it was closed."""
        return self._move_look(seen.upload_id, seen.next_look_at, until)

    def look_again(self, upload_id: str, claimed_until: int, at: int) -> bool:
        """End a look that was claimed and say when the next is worth while. False: the claim was lost meanwhile."""
        return self._move_look(upload_id, claimed_until, at)

    def _move_look(self, upload_id: str, seen: int, to: int) -> bool:
        try:
            self._update(open_address(upload_id), {"next_look_at": to}, Attr("next_look_at").eq(seen))
        except ClientError as error:
            if not refused_by_condition(error):
                raise
            return False
        return True

    # --- plumbing --------------------------------------------------------------------------------------------------

    def _update_upload(self, upload_id: str, values: dict[str, Any], condition: ConditionBase) -> Upload | None:
        try:
            return Upload.from_item(self._update(meta_address(upload_id), values, condition))
        except ClientError as error:
            if not refused_by_condition(error):
                raise
            return None

    def _update(
        self,
        key: dict[str, str],
        values: dict[str, Any],
        condition: ConditionBase,
        add: dict[str, int] | None = None,
    ) -> dict[str, Any]:
        request = self._update_request(values, condition, add)
        answer = self._client.update_item(TableName=self._name, Key=key, ReturnValues="ALL_NEW", **request)
        attributes: dict[str, Any] = answer["Attributes"]
        return attributes

    @staticmethod
    def _update_request(
        values: dict[str, Any], condition: ConditionBase | str, add: dict[str, int] | None = None
    ) -> dict[str, Any]:
        """The parts of an update; every name is a placeholder, since DynamoDB reserves many ("size", "state")."""
        sets = ", ".join(f"#{name} = :{name}" for name in values)
        adds = ", ".join(f"#{name} :{name}" for name in add or {})
        everything = {**values, **(add or {})}
        return {
            "UpdateExpression": f"SET {sets}" + (f" ADD {adds}" if adds else ""),
            "ConditionExpression": condition,
            "ExpressionAttributeNames": {f"#{name}": name for name in everything},
            "ExpressionAttributeValues": {f":{name}": value for name, value in everything.items()},
        }

    def _transact(self, *writes: dict[str, dict[str, Any]]) -> bool:
        items: list[Any] = [
            {kind: {"TableName": self._name, **request}} for write in writes for kind, request in write.items()
        ]
        for attempt in range(_TRANSACTION_TRIES):
            try:
                self._client.transact_write_items(TransactItems=items)
            except self._client.exceptions.TransactionCanceledException as error:
                reasons = {reason.get("Code", "None") for reason in error.response.get("CancellationReasons", [])}
                if "ConditionalCheckFailed" in reasons:
                    return False
                # Another transaction is at work on the same items, and boto3 does not repeat this one by itself.
                if reasons - {"None"} != {"TransactionConflict"} or attempt == _TRANSACTION_TRIES - 1:
                    raise
                self._sleep(random.uniform(0, 0.05 * 2**attempt))
            else:
                return True
        return False
