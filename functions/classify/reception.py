"""Which messages of a batch are rows to classify: parsed, guarded, of a running upload, with a key that is theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from functions.classify.queues import Queues
from functions.classify.results import Ending, Result
from functions.classify.row_event import (
    KEY_MISMATCH,
    MALFORMED,
    KeyMismatchError,
    MalformedRowError,
    Message,
    Row,
    RowData,
    parse_row,
    verified_row,
)
from functions.classify.settlement import Settlement
from functions.classify.task import Task
from functions.events.guards import check
from functions.failures import describe
from functions.uploads.model import Upload

ME = "classify"
UNKNOWN_UPLOAD = "unknown_upload"


class Uploads(Protocol):
    """Where uploads are read; see `functions.uploads.table.UploadsTable`."""

    def get_upload(self, upload_id: str, *, consistent: bool = True) -> Upload | None: ...


class Reception:
    """Turns messages into rows, or into results where they are none. One fault never touches a second message."""

    def __init__(self, *, uploads: Uploads, settlement: Settlement, queues: Queues, max_hops: int) -> None:
        self._uploads = uploads
        self._settlement = settlement
        self._queues = queues
        self._max_hops = max_hops

    def receive(self, messages: Sequence[Message]) -> tuple[list[Row], list[Result]]:
        """The rows to classify, and what became of every other message."""
        rows: list[Row] = []
        results: list[Result] = []
        uploads = _UploadsOfBatch(self._uploads)
        for message in messages:
            received = self._receive(message, uploads)
            if isinstance(received, Row):
                rows.append(received)
            else:
                results.append(received)
        return rows, results

    def _receive(self, message: Message, uploads: _UploadsOfBatch) -> Row | Result:
        data: RowData | None = None
        try:
            envelope, data = parse_row(message.body)
            upload = uploads.get(data.upload_id)
            stop = check(envelope, me=ME, max_hops=self._max_hops, upload_state=upload.state if upload else "absent")
            if upload is None:
                # Nobody here admitted what this claims to come from.
                return self._dead_letter(message, UNKNOWN_UPLOAD)
            if stop:
                # Acknowledged without a claim: nothing was paid, and resuming publishes what has no answer.
                return _result(message, data, "stopped", acknowledged=True, reason=stop.reason)
            return self._verify(message, data, upload)
        except MalformedRowError:
            return self._dead_letter(message, MALFORMED)
        except Exception as error:  # noqa: BLE001 - one row's fault is that row's; the queue delivers it again
            return _result(message, data, "error", reason="handler_error", error=describe(error))

    def _verify(self, message: Message, data: RowData, upload: Upload) -> Row | Result:
        if data.row_number > upload.counts.records:
            raise MalformedRowError(MALFORMED)
        # The stored task, never the deployed one: a deployment re-bills nothing.
        task = Task.from_json(upload.task)
        try:
            return verified_row(message, data, upload, task)
        except KeyMismatchError:
            return self._settlement.fail(message, data, task.prompt_version, KEY_MISMATCH)

    def _dead_letter(self, message: Message, reason: str) -> Result:
        try:
            self._queues.dead_letter(message.body, reason)
        except Exception as error:  # noqa: BLE001 - not acknowledged, so it comes again
            return _result(message, None, "error", reason=reason, error=describe(error))
        return _result(message, None, "malformed", acknowledged=True, reason=reason)


class _UploadsOfBatch:
    """Each upload is read once a batch, strongly consistently; a read that failed fails for all its rows."""

    def __init__(self, uploads: Uploads) -> None:
        self._uploads = uploads
        self._found: dict[str, Upload | Exception | None] = {}

    def get(self, upload_id: str) -> Upload | None:
        if upload_id not in self._found:
            self._found[upload_id] = self._read(upload_id)
        found = self._found[upload_id]
        if isinstance(found, Exception):
            raise found
        return found

    def _read(self, upload_id: str) -> Upload | Exception | None:
        try:
            return self._uploads.get_upload(upload_id, consistent=True)
        except Exception as error:  # noqa: BLE001 - kept, and raised again for each row of this upload
            return error


def _result(
    message: Message,
    data: RowData | None,
    ending: Ending,
    *,
    acknowledged: bool = False,
    reason: str = "",
    error: dict[str, str] | None = None,
) -> Result:
    return Result(
        message.message_id,
        ending,
        acknowledged,
        reason=reason,
        upload_id=data.upload_id if data else "",
        row_number=data.row_number if data else None,
        error=error,
    )
