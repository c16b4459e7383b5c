"""Pausing an upload while the model refuses the account: once a batch, however many of its rows met the refusal.

Every such row was released before, so nothing of it is lost: once the pause is written its message may be
acknowledged, because resuming publishes every row again that has no answer. A death between the release and the pause
leaves the message unacknowledged; its next delivery meets the same refusal, unbilled, and pauses.
"""

from __future__ import annotations

import threading
from typing import Protocol

from functions.uploads.model import Upload


class Uploads(Protocol):
    """Where uploads are paused; see `functions.uploads.table.UploadsTable`."""

    def get_upload(self, upload_id: str, *, consistent: bool = True) -> Upload | None: ...

    def pause(self, upload: Upload, reason: str) -> bool: ...


class Pauses:
    """The pauses of one batch. Safe to use from the threads of its rows."""

    def __init__(self, uploads: Uploads) -> None:
        self._uploads = uploads
        self._lock = threading.Lock()
        self._paused: dict[str, bool | Exception] = {}

    def pause(self, upload: Upload, reason: str) -> bool:
        """Pause the upload, as it was read for this batch. True: it does not run now, by whomever it was stopped.

        False: it was resumed since it was read, so what was refused may be mended. What DynamoDB raises is raised to
        every row of the upload.
        """
        with self._lock:
            if upload.upload_id not in self._paused:
                self._paused[upload.upload_id] = self._try_pause(upload, reason)
            paused = self._paused[upload.upload_id]
        if isinstance(paused, Exception):
            raise paused
        return paused

    def _try_pause(self, upload: Upload, reason: str) -> bool | Exception:
        try:
            return self._uploads.pause(upload, reason) or not self._runs(upload.upload_id)
        except Exception as error:  # noqa: BLE001 - kept, and raised again for each row of this upload
            return error

    def _runs(self, upload_id: str) -> bool:
        current = self._uploads.get_upload(upload_id, consistent=True)
        return current is not None and current.state == "running"
