"""Approving an upload over a ceiling: its price first, like a plan, then the order, which reserves it."""

from __future__ import annotations

from dataclasses import dataclass

from functions.clock import Clock, wall_clock
from functions.operate.errors import NotWaiting, TooOld, UnknownUpload
from functions.uploads.budget import budget_day
from functions.uploads.model import Counts, Upload
from functions.uploads.table import UploadsTable


@dataclass(frozen=True)
class Plan:
    """What letting an upload run would mean, as admission found it. Money in integer micro-dollars.

    `known` rows are answered already and cost nothing; `to_ask` are asked, for at most `worst_case_microusd` together.
    """

    upload_id: str
    state: str
    counts: Counts
    known: int
    to_ask: int
    worst_case_microusd: int


def plan(upload: Upload) -> Plan:
    """The plan of any upload; only that of one that waits can be approved."""
    return Plan(
        upload_id=upload.upload_id,
        state=upload.state,
        counts=upload.counts,
        known=upload.counts.known,
        to_ask=upload.counts.valid - upload.counts.known,
        worst_case_microusd=upload.worst_case_microusd,
    )


def find(table: UploadsTable, upload_id: str) -> Upload:
    """The upload, read strongly consistently. Raises UnknownUpload."""
    upload = table.get_upload(upload_id)
    if upload is None:
        raise UnknownUpload(upload_id)
    return upload


def refuse_too_old(upload: Upload, now: float) -> None:
    """Before any order that has rows published. Raises TooOld."""
    if not upload.keeps_its_rows(now):
        raise TooOld(upload.upload_id)


def approve(table: UploadsTable, upload_id: str, *, actor: str, clock: Clock = wall_clock) -> Plan:
    """Let an upload run that waits for approval; its worst case is reserved on today's UTC day, whatever the ceiling.

    Returns the plan that was approved. The next tick has it published. Raises UnknownUpload, NotWaiting or
    TooOld.
    """
    upload = find(table, upload_id)
    if upload.state != "needs_approval":
        raise NotWaiting(upload_id, upload.state)
    refuse_too_old(upload, clock())
    approved = table.approve(upload, actor=actor, day=budget_day(clock()))
    if not approved:
        raise NotWaiting(upload_id, find(table, upload_id).state)
    return plan(upload)
