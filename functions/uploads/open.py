"""What is open: one OPEN item for each upload that is not finished, or of which something is still to be told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from boto3.dynamodb.conditions import Attr, Key
from botocore.exceptions import ClientError

from functions.crash_points import crossing
from functions.transactions import refused_by_condition
from functions.uploads.keys import open_address
from functions.uploads.model import Announcement, OpenUpload, Progress
from functions.uploads.plumbing import ItemsTable


class OpenTable(ItemsTable):
    """OPEN items: the list that ticks work on, the claim of a look, and the outbox."""

    def open_uploads(self) -> Iterator[OpenUpload]:
        for item in self._query(
            "uploads.open_uploads", KeyConditionExpression=Key("pk").eq("OPEN"), ConsistentRead=True
        ):
            yield OpenUpload.from_item(item)

    def claim_look(self, seen: OpenUpload, until: int) -> bool:
        """Be the only tick at work on this upload until then. False: another tick is, or it was closed."""
        return self._move_look("uploads.claim_look", seen.upload_id, seen.next_look_at, until, {})

    def look_again(self, upload_id: str, claimed_until: int, at: int, seen: Progress | None = None) -> bool:
        """End a look that was claimed, say when the next is worth while, and keep what was seen.

        False: the claim was lost meanwhile, or an operator asked for a look at once.
        """
        noted = {"terminal": seen.terminal, "moved_at": seen.moved_at} if seen else {}
        return self._move_look("uploads.look_again", upload_id, claimed_until, at, noted)

    def _move_look(self, operation: str, upload_id: str, seen: int, to: int, noted: dict[str, int]) -> bool:
        values = {"next_look_at": to, **noted}
        return self._try_update(operation, open_address(upload_id), values, Attr("next_look_at").eq(seen)) is not None

    def announced(self, upload_id: str, announcement: Announcement) -> None:
        """Take what was told out of the outbox; after the end of an upload its item goes with it.

        What was put there meanwhile stays, and so does an upload that was reopened.
        """
        condition = Attr("announcement.serial").eq(announcement.serial)
        fenced: Any = {"TableName": self._name, "Key": open_address(upload_id), "ConditionExpression": condition}
        try:
            with crossing("uploads.announced"):
                if announcement.kind == "finished":
                    self._client.delete_item(**fenced)
                else:
                    self._client.update_item(UpdateExpression="REMOVE announcement", **fenced)
        except ClientError as error:
            if not refused_by_condition(error):
                raise
