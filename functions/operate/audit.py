"""Which model version gave an answer, from which input, when, and in how many attempts: told from the record alone.

Fit for a person and for JSON. It names rows and digests, never what stood in a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from functions.classify.task import Task
from functions.effects.record import EffectRecord
from functions.effects.states import State
from functions.effects.table import EffectTable
from functions.finish.rows import OpenSource
from functions.intake.questions import Question, Questions
from functions.intake.records import Record, open_csv
from functions.operate.approve import find
from functions.operate.errors import NoSuchRow, UnknownKey, is_key
from functions.settings import Limits
from functions.uploads.keys import record_id
from functions.uploads.model import RowItem, Upload
from functions.uploads.table import UploadsTable

TASK_NAME = str(Task.model_fields["name"].default)


@dataclass(frozen=True)
class Decision:
    """What an operator or the reconciler decided about the record."""

    event: str
    actor: str
    reason: str
    at: str


@dataclass(frozen=True)
class AuditedRow:
    """The row through which the record was found. `outcome` is that of its item, empty while it has none; `known`: it
    was answered without a request made for it."""

    upload_id: str
    row: int
    line: int
    outcome: str = ""
    known: bool = False


@dataclass(frozen=True)
class Audit:
    """Everything that is stored of one key. Times are UTC, RFC 3339, empty where there is none.

    `state` is the record's (ABSENT: nothing was ever asked), `outcome` succeeded, failed, released or unknown; of a
    record that is released it tells why. `requested_by` is the row that asked for the latest attempt. `attempts`
    counts claims, `paid_attempts` those that may have been billed, `late_answers` those that came after another attempt
    began. `usage` are token counts by the API's names, `cost_microusd` integer micro-dollars; of an unknown,
    `at_most_microusd` bounds what may have been billed.
    """

    key: str
    state: str
    outcome: str = ""
    label: str = ""
    reason: str = ""
    paid: bool = False
    retryable: bool = False
    model: str = ""
    prompt_version: str = ""
    request_id: str = ""
    input_digest: str = ""
    http_status: int | None = None
    stop_reason: str = ""
    attempts: int = 0
    paid_attempts: int = 0
    ordered_attempts: int = 0
    late_answers: int = 0
    claimed_at: str = ""
    finished_at: str = ""
    requested_by: str = ""
    usage: Mapping[str, int] | None = None
    cost_microusd: int = 0
    at_most_microusd: int | None = None
    decisions: tuple[Decision, ...] = ()
    row: AuditedRow | None = None

    def to_json(self) -> dict[str, Any]:
        """Ready for `json.dumps`."""
        return asdict(self)


def audit_key(effects: EffectTable, key: str) -> Audit:
    """What is stored under a business key (64 hex digits). Raises UnknownKey."""
    record = effects.read(record_id(TASK_NAME, key)) if is_key(key) else None
    if record is None:
        raise UnknownKey(key)
    return _audit(key, record, None)


def audit_row(
    table: UploadsTable, effects: EffectTable, open_source: OpenSource, upload_id: str, row_number: int
) -> Audit:
    """What is stored under the key of one row, an open one included. Raises UnknownUpload or NoSuchRow."""
    upload = find(table, upload_id)
    task = Task.from_json(upload.task)
    item = table.get_row(upload_id, row_number)
    if item is not None:
        key, row = item.key, _row_of(item)
    else:
        question = _question(upload, task, open_source, row_number)
        key, row = question.key, AuditedRow(upload_id, row_number, question.line)
    record = effects.read(record_id(task.name, key)) if key else None
    return _audit(key, record, row) if record else Audit(key, str(State.ABSENT), row=row, **_of_item(item))


def _question(upload: Upload, task: Task, open_source: OpenSource, row_number: int) -> Question:
    limits = Limits.model_validate(upload.limits)
    csv = open_csv(open_source(upload), limits, encoding=upload.encoding, delimiter=upload.delimiter)
    for record in csv.records():
        if record.number == row_number:
            if record.outcome != "valid":
                raise NoSuchRow(upload.upload_id, row_number, _why(record))
            return Questions(task).of(record)
    raise NoSuchRow(upload.upload_id, row_number, f"the file has {upload.counts.records} records")


def _why(record: Record) -> str:
    if record.outcome == "duplicate":
        return f"it repeats row {record.duplicate_of}, which has one"
    if record.outcome == "blank":
        return "it is blank"
    return f"it was rejected ({record.reason})"


def _row_of(item: RowItem) -> AuditedRow:
    return AuditedRow(item.upload_id, item.row_number, item.line, item.outcome, item.known)


def _of_item(item: RowItem | None) -> dict[str, Any]:
    # A row that failed before anything was claimed, or whose record's retention is over: its item is all there is.
    if item is None:
        return {}
    outcome = "succeeded" if item.outcome == "classified" else item.outcome
    named = ("label", "reason", "paid", "retryable", "model", "prompt_version", "request_id", "cost_microusd")
    return {
        "outcome": outcome,
        "attempts": item.attempt,
        "finished_at": _time(item.finished_at),
        **{name: getattr(item, name) for name in named},
    }


def _audit(key: str, record: EffectRecord, row: AuditedRow | None) -> Audit:
    return Audit(
        key=key,
        state=str(record.state),
        attempts=record.attempt,
        paid_attempts=record.paid_attempts,
        ordered_attempts=record.ordered_attempts,
        late_answers=record.late_answers,
        claimed_at=_time(record.claimed_at),
        finished_at=_time(record.finished_at),
        requested_by=record.origin,
        decisions=tuple(Decision(one.event, one.actor, one.reason, _time(one.at)) for one in record.resolutions),
        row=row,
        **_outcome(record),
    )


def _outcome(record: EffectRecord) -> dict[str, Any]:
    outcome = record.outcome
    if outcome is None:
        return {}
    audit, result = outcome.audit, outcome.result
    named = ("model", "prompt_version", "request_id", "input_digest", "stop_reason")
    return {
        "outcome": outcome.kind,
        "label": str(result.get("label", "")),
        "reason": outcome.reason,
        "paid": outcome.paid,
        "retryable": outcome.retryable,
        "http_status": audit.get("status"),
        "usage": result.get("usage"),
        "cost_microusd": int(result.get("cost_microusd", 0)),
        "at_most_microusd": audit.get("at_most_microusd"),
        **{name: str(audit.get(name, "")) for name in named},
    }


def _time(seconds: int | None) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") if seconds else ""
