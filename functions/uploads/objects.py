"""What became of each object version: attempts, and then for good an upload or a refusal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from boto3.dynamodb.conditions import Attr

from functions.batch_get import batch_get
from functions.crash_points import crossing
from functions.uploads.keys import object_address
from functions.uploads.model import ObjectItem
from functions.uploads.plumbing import ItemsTable

_UNSETTLED = Attr("upload_id").not_exists() & Attr("refusal").not_exists()
UNSETTLED_EXPRESSION = "attribute_not_exists(upload_id) AND attribute_not_exists(refusal)"


class ObjectsTable(ItemsTable):
    """OBJECT items."""

    def begin_object(self, object_key: str, version_id: str, size: int) -> ObjectItem:
        """Count one more attempt at this version and return its item; a settled version is returned as it is."""
        now = int(self._clock())
        begun = {"object_key": object_key, "version_id": version_id, "size": size, "begun_at": now}
        item = self._try_update(
            "uploads.begin_object",
            object_address(object_key, version_id),
            {**begun, **self._expiry(now)},
            _UNSETTLED,
            add={"attempts": 1},
            copy={"begun_before": "begun_at"},
        )
        if item is not None:
            return ObjectItem.from_item(item)
        found = self.get_object(object_key, version_id)
        if found is None:
            # It was settled a moment ago and its TTL ran out since: as good as new.
            return self.begin_object(object_key, version_id, size)
        return found

    def get_object(self, object_key: str, version_id: str) -> ObjectItem | None:
        item = self._get("uploads.get_object", object_address(object_key, version_id))
        return ObjectItem.from_item(item) if item else None

    def get_objects(self, versions: Iterable[tuple[str, str]]) -> dict[tuple[str, str], ObjectItem]:
        """The items that exist of these (object key, version id), read consistently."""
        keys = [object_address(object_key, version_id) for object_key, version_id in dict.fromkeys(versions)]
        found = batch_get(self._batch_get_objects, self._name, keys, sleep=self._sleep, consistent=True)
        return {(item.object_key, item.version_id): item for item in map(ObjectItem.from_item, found)}

    def _batch_get_objects(self, request: dict[str, Any]) -> dict[str, Any]:
        with crossing("uploads.get_objects"):
            answer: dict[str, Any] = self._client.batch_get_item(RequestItems=request)
        return answer

    def refuse_object(self, object_key: str, version_id: str, code: str, sentence: str) -> bool:
        """Settle this version as refused. False: it was settled before, and stays so."""
        return self._settle("uploads.refuse_object", object_key, version_id, {"refusal": code, "sentence": sentence})

    def join_object(self, object_key: str, version_id: str, upload_id: str) -> bool:
        """Settle this version as a repeat of an upload that exists. False: it was settled before, and stays so."""
        return self._settle("uploads.join_object", object_key, version_id, {"upload_id": upload_id, "first": False})

    def _settle(self, operation: str, object_key: str, version_id: str, values: dict[str, Any]) -> bool:
        return self._try_update(operation, object_address(object_key, version_id), values, _UNSETTLED) is not None
