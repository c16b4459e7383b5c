"""Uploading a file and waiting for its end, against any cloud with the stacks deployed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cli.cloud import Cloud
from cli.counting import ended_rows
from cli.errors import CommandError
from cli.inputs import InputFile
from functions.text import one_line
from functions.uploads.model import ObjectItem, Upload
from functions.uploads.table import UploadsTable

PAUSE_S = 0.25
COUNT_PAUSE_S = 0.5
COUNT_SHARE = 4
"""Counting rows takes at most one part in so many of the time, however many rows there are."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an uploaded object version stands: not seen yet, being read, refused, or an upload in some state."""

    item: ObjectItem | None = None
    upload: Upload | None = None
    terminal: int = 0
    """Valid rows that have ended; counted for progress, so it may lag behind."""

    @property
    def ended(self) -> bool:
        """Nothing more happens by itself."""
        if self.item is not None and self.item.refusal is not None:
            return True
        return self.upload is not None and self.upload.state != "running"


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    object_key: str
    version_id: str


class Uploader:
    """Puts files into the uploads bucket and watches what becomes of them. Seconds everywhere."""

    def __init__(
        self,
        cloud: Cloud,
        *,
        patience_s: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.s3: Any = cloud.client("s3")
        self.table = UploadsTable(cloud.resource("dynamodb").Table(cloud.outputs["ProspectsTableName"]))
        self._bucket = cloud.outputs["UploadsBucketName"]
        self._patience_s = patience_s
        self._clock = clock
        self._sleep = sleep

    def put(self, file: InputFile) -> ObjectVersion:
        """Raises CommandError where the file cannot be read any more."""
        try:
            with file.path.open("rb") as body:
                answer = self.s3.put_object(Bucket=self._bucket, Key=file.object_key, Body=body)
        except OSError as error:
            reason = (error.strerror or "input/output error").lower()
            raise CommandError(f"{one_line(file.given)} cannot be read any more: {reason}.") from None
        return ObjectVersion(file.object_key, answer["VersionId"])

    def wait(self, version: ObjectVersion, progress: Callable[[Standing], None]) -> Standing:
        """Watch a version until it has ended, or until nothing has changed for as long as the patience lasts."""
        standing, changed_at = Standing(), self._clock()
        next_count_at = changed_at
        while True:
            now = self._clock()
            due = now >= next_count_at
            seen = self._look(version, standing.terminal, count=due)
            if due:
                next_count_at = self._clock() + max(COUNT_PAUSE_S, (self._clock() - now) * (COUNT_SHARE - 1))
            if seen != standing:
                standing, changed_at = seen, self._clock()
                progress(standing)
            if standing.ended or self._clock() - changed_at > self._patience_s:
                return standing
            self._sleep(PAUSE_S)

    def _look(self, version: ObjectVersion, terminal: int, *, count: bool) -> Standing:
        item = self.table.get_object(version.object_key, version.version_id)
        if item is None or item.upload_id is None:
            return Standing(item)
        upload = self.table.get_upload(item.upload_id)
        if upload is not None and (count or upload.state == "done"):
            terminal, _ = ended_rows(self.table, upload)
        return Standing(item, upload, terminal)
