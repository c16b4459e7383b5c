"""Where uploads stand, as data: what `status` shows and prints as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from cli.counting import ended_rows
from cli.finding import Finder, Found
from functions.uploads.model import Upload


@dataclass(frozen=True, slots=True)
class Status:
    """One upload, or a file that is none. `ended` of its valid rows have ended; not `exact`: at the last tick's look.

    `state` is that of the upload, or `refused`, or `waiting` for a file that was not taken in yet.
    """

    object_key: str
    state: str
    reason: str = ""
    upload: Upload | None = None
    ended: int = 0
    exact: bool = True

    def to_json(self) -> dict[str, Any]:
        """The members and their order are a contract (docs/commands.md)."""
        upload = self.upload
        own = {
            "upload_id": upload.upload_id if upload else None,
            "file": self.object_key,
            "state": self.state,
            "reason": self.reason or None,
        }
        if upload is None:
            return own
        counts, rows = upload.counts, upload.rows
        return {
            **own,
            "created_at": timestamp(upload.created_at),
            "finished_at": timestamp(upload.finished_at) if self.state == "done" else None,
            **{name: getattr(counts, name) for name in ("records", "valid", "rejected", "duplicates", "blank")},
            "ended": self.ended,
            "ended_exact": self.exact,
            **{
                name: getattr(rows, name) if self.state == "done" else None
                for name in ("known", "classified", "failed", "unknown", "cost_microusd")
            },
            "worst_case_microusd": upload.worst_case_microusd,
            "reserved_microusd": upload.reserved_microusd,
            "published": upload.published,
            "prompt_version": upload.prompt_version,
            "results": f"s3://{upload.bucket}/{upload.results_key}" if upload.results_key else None,
        }


@dataclass(frozen=True, slots=True)
class Overview:
    """Open uploads, oldest first, and the last that were finished, newest first."""

    open: list[Status]
    finished: list[Status]

    def to_json(self) -> dict[str, Any]:
        return {name: [status.to_json() for status in getattr(self, name)] for name in ("open", "finished")}


def timestamp(at: float | None) -> str | None:
    """Seconds since the epoch as ISO 8601 in UTC."""
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def status_of(finder: Finder, found: Found) -> Status:
    """Where one upload or file stands; rows of an open upload are counted where there are not too many."""
    upload, item = found.upload, found.item
    if upload is None:
        if item is not None and item.refusal is not None:
            return Status(found.object_key, "refused", f"{item.refusal}: {item.sentence}")
        return Status(found.object_key, "waiting")
    ended, exact = ended_rows(finder.table, upload)
    return _of(upload, ended, exact=exact)


def overview(finder: Finder, last: int) -> Overview:
    """Every open upload and the `last` finished ones."""
    seen = {each.upload_id: each for each in finder.table.open_uploads()}
    uploads = [(finder.table.get_upload(upload_id), each) for upload_id, each in seen.items()]
    # An upload that is done stays in the list until its end was told.
    still_open = [(upload, each) for upload, each in uploads if upload is not None and upload.state != "done"]
    still_open.sort(key=lambda pair: pair[0].created_at)
    listed = [_of(upload, each.terminal, exact=False) for upload, each in still_open]
    return Overview(listed, list(islice(_finished(finder), last)))


def _finished(finder: Finder) -> Iterator[Status]:
    for upload_id in finder.finished_ids():
        upload = finder.table.get_upload(upload_id)
        # The table forgets an upload on its own day, and a reopened one is listed as open.
        if upload is not None and upload.state == "done":
            yield _of(upload, upload.counts.valid, exact=True)


def _of(upload: Upload, ended: int, *, exact: bool) -> Status:
    reason = upload.pause_reason if upload.state == "paused" else ""
    return Status(upload.object_key, upload.state, reason, upload, ended, exact)
