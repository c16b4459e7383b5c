"""The event of a row, as classify receives it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions.clock import Clock, wall_clock
from functions.events.entries import Entry
from functions.events.envelope import Envelope
from functions.uploads.keys import row_event_id
from functions.uploads.terminal import RowIdentity

if TYPE_CHECKING:
    from functions.classify.task import Task
    from functions.intake.questions import Question
    from functions.uploads.model import RowItem, Upload

AGENT = "intake@1"
ROW_SUBMITTED = "prospect.submitted"
EVENT_REFUSED = "event_refused"


def row_submitted(upload: Upload, task: Task, question: Question, clock: Clock = wall_clock) -> Entry:
    """One row's event. Its deduplication id is the same for every resend within a generation of publishing."""
    envelope = Envelope.new(
        ROW_SUBMITTED,
        {
            "upload_id": upload.upload_id,
            "row_number": question.row_number,
            "line": question.line,
            "key": question.key,
            # Only what the model is shown: the bus and the queue need no other personal data.
            "fields": task.rendered(question.fields),
        },
        correlation_id=upload.upload_id,
        causation_id=f"{upload.upload_id}/pass/{upload.generation}",
        source_agent=AGENT,
        clock=clock,
    )
    dedup_id = row_event_id(upload.upload_id, question.row_number, upload.generation)
    return Entry(dedup_id, ROW_SUBMITTED, envelope.to_detail())


def refused_row(entry: Entry, prompt_version: str, now: int) -> RowItem:
    """The end of a row whose event the bus refuses for good: nothing was asked of the model."""
    data = entry.detail["data"]
    row = RowIdentity(data["upload_id"], data["row_number"], data["line"], data["key"], prompt_version)
    return row.item("failed", now, reason=EVENT_REFUSED)


def row_number_of(entry: Entry) -> int:
    return int(entry.detail["data"]["row_number"])
