"""Which upload is meant: an upload id, the beginning of one, or the name of an uploaded file. No table is scanned.

Open uploads are listed by the table itself, finished ones by the folders of their results in the bucket; a file's
name leads through its newest object version to what became of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from botocore.exceptions import ClientError

from cli.cloud import Cloud
from cli.errors import NotSoError
from cli.sentences import code_of
from functions.text import one_line
from functions.uploads.model import ObjectItem, Upload
from functions.uploads.table import UploadsTable

UPLOADS, RESULTS = "uploads/", "results/"
SHORTEST = 6
_ID = re.compile(r"u-[0-9a-f]{24}")
_BEGINNING = re.compile(rf"u-[0-9a-f]{{{SHORTEST - 2},23}}")
_MOST_TOLD = 3
_NOT_THERE = frozenset({"404", "NoSuchKey", "NotFound"})


@dataclass(frozen=True, slots=True)
class Found:
    """What a name led to. Without an upload: a file that was refused, or that was not taken in yet (no item)."""

    object_key: str
    upload: Upload | None = None
    item: ObjectItem | None = None


class Finder:
    """Looks names up in one cloud."""

    def __init__(self, cloud: Cloud) -> None:
        self.s3: Any = cloud.client("s3")
        self.bucket = cloud.outputs["UploadsBucketName"]
        self.table = UploadsTable(cloud.resource("dynamodb").Table(cloud.outputs["ProspectsTableName"]))

    def find(self, text: str) -> Found:
        """Raises NotSoError where nothing, or more than one upload, has that name."""
        if _ID.fullmatch(text):
            return self._by_id(text)
        if _BEGINNING.fullmatch(text):
            ids = self._ids(text)
            if len(ids) > 1:
                told = ", ".join(ids[:_MOST_TOLD]) + (", …" if len(ids) > _MOST_TOLD else "")
                raise NotSoError(f"{text} is the beginning of {told}; give more of it.")
            if ids:
                return self._by_id(ids[0])
        return self._by_file(text)

    def upload(self, text: str) -> Upload:
        """The upload itself. Raises NotSoError, also for a file that is none (refused, or not taken in yet)."""
        found = self.find(text)
        if found.upload is not None:
            return found.upload
        name = one_line(found.object_key.removeprefix(UPLOADS))
        if found.item is not None and found.item.refusal is not None:
            raise NotSoError(f"{name} was refused ({found.item.refusal}), so there is no upload: {found.item.sentence}")
        raise NotSoError(f"{name} has not been taken in yet; look again in a moment with `prospects status`.")

    def finished_ids(self) -> list[str]:
        """Ids of finished uploads, the newest results first: one listing of 1,000 objects a request."""
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=RESULTS)
        seen: dict[str, Any] = {}
        for page in pages:
            for entry in page.get("Contents", ()):
                seen[_id_in(entry["Key"])] = entry["LastModified"]
        return sorted(seen, key=lambda upload_id: seen[upload_id], reverse=True)

    def _by_id(self, upload_id: str) -> Found:
        upload = self.table.get_upload(upload_id)
        if upload is None:
            raise NotSoError(f"There is no upload {upload_id} here; `prospects status` lists those that there are.")
        return Found(upload.object_key, upload)

    def _ids(self, beginning: str) -> list[str]:
        listing = self.s3.list_objects_v2(
            Bucket=self.bucket, Prefix=f"{RESULTS}{beginning}", Delimiter="/", MaxKeys=_MOST_TOLD + 1
        )
        finished = {_id_in(entry["Prefix"]) for entry in listing.get("CommonPrefixes", ())}
        still_open = {seen.upload_id for seen in self.table.open_uploads() if seen.upload_id.startswith(beginning)}
        return sorted(finished | still_open)

    def _by_file(self, text: str) -> Found:
        key = text if text.startswith(UPLOADS) else f"{UPLOADS}{PurePath(text).name}"
        try:
            version = self.s3.head_object(Bucket=self.bucket, Key=key)["VersionId"]
        except ClientError as error:
            if code_of(error) in _NOT_THERE:
                raise NotSoError(
                    f"There is no upload and no uploaded file of the name {one_line(text)} here (an id may be "
                    f"shortened to {SHORTEST} characters); `prospects status` lists what there is."
                ) from None
            raise
        item = self.table.get_object(key, version)
        upload = self.table.get_upload(item.upload_id) if item and item.upload_id else None
        return Found(key, upload, item)


def _id_in(results_key: str) -> str:
    return str(results_key.removeprefix(RESULTS).partition("/")[0])
