"""Resuming a paused upload where it stood."""

from __future__ import annotations

from dataclasses import dataclass

from functions.clock import Clock, wall_clock
from functions.operate.approve import find, refuse_too_old
from functions.operate.errors import NotPaused
from functions.uploads.table import UploadsTable


@dataclass(frozen=True)
class Resumed:
    """`pause_reason` is the code it was paused for, at `paused_at` (seconds since the epoch)."""

    upload_id: str
    pause_reason: str
    paused_at: int | None


def resume(table: UploadsTable, upload_id: str, *, actor: str, clock: Clock = wall_clock) -> Resumed:
    """Let a paused upload go on: a new pass publishes every row that has neither an item nor a stored answer.

    What it costs was reserved when it was admitted. Raises UnknownUpload, NotPaused or TooOld.
    """
    upload = find(table, upload_id)
    if upload.state != "paused":
        raise NotPaused(upload_id, upload.state)
    refuse_too_old(upload, clock())
    resumed = table.resume(upload, actor=actor)
    if not resumed:
        raise NotPaused(upload_id, find(table, upload_id).state)
    return Resumed(upload_id, upload.pause_reason, upload.paused_at)
