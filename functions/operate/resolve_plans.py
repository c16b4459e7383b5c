"""What a decision about unknown rows would do, and which rows it can be made about: nothing is changed here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from functions.effects.record import EffectRecord
from functions.effects.resolve import ANSWER_LOST
from functions.effects.states import State
from functions.effects.table import EffectTable
from functions.finish.rows import OpenSource
from functions.operate.audit import TASK_NAME
from functions.operate.errors import NothingUnknown, NotUnknown, UnknownKey
from functions.operate.unknown import UnknownRow, UnknownRows, is_ordered
from functions.uploads.keys import record_id, row_origin
from functions.uploads.model import Upload
from functions.uploads.table import UploadsTable

Decision = Literal["billed", "not-billed", "rerun"]
"""`billed`: it happened, and its answer is lost. `not-billed`: none of its attempts happened, so it is asked again, as
if for the first time. `rerun`: nobody can tell, and it is asked again at the risk of a second bill."""


@dataclass(frozen=True)
class ResolvePlan:
    """What a decision would do to rows of one upload, by their records as they are now. Money in integer micro-dollars.

    `following`: other rows of the same key, in any upload, which get the same end. `doubted_microusd`: what was sent
    for the rows so far may have cost (None: nothing tells it); `worst_case_microusd`: what asking them again costs.
    """

    decision: Decision
    upload: Upload
    rows: tuple[UnknownRow, ...]
    following: int
    doubted_microusd: int | None
    worst_case_microusd: int

    @property
    def asks_again(self) -> bool:
        return self.decision != "billed"


class ResolvePlans:
    """Makes plans. `max_paid_attempts` is the deployed setting."""

    def __init__(
        self, *, table: UploadsTable, effects: EffectTable, open_source: OpenSource, max_paid_attempts: int
    ) -> None:
        self.unknown = UnknownRows(table=table, effects=effects, open_source=open_source)
        self._table = table
        self._effects = effects
        self._max_paid_attempts = max_paid_attempts

    def plan_upload(self, decision: Decision, upload: Upload) -> ResolvePlan:
        """For every row of an upload that is unknown. Raises NothingUnknown."""
        rows = [row for row in self.unknown.of_upload(upload.upload_id) if _takes(row, decision)]
        if not rows:
            raise NothingUnknown(upload.upload_id)
        return self._plan(decision, rows, following=0)

    def plan_row(self, decision: Decision, upload: Upload, row_number: int) -> ResolvePlan:
        """For one row. Raises NotUnknown."""
        row = self.unknown.of_row(upload, row_number)
        if row is None:
            item = self._table.get_row(upload.upload_id, row_number)
            why = f"is {item.outcome}, not unknown" if item else "has not ended, or is no valid record"
            raise NotUnknown(f"Row {row_number} of the upload {upload.upload_id}", why)
        if not _takes(row, decision):
            raise NotUnknown(f"Row {row_number} of the upload {upload.upload_id}", _standing(row))
        return self._plan(decision, [row], len(self.unknown.of_key(row.item.key)) - 1)

    def plan_key(self, decision: Decision, key: str) -> ResolvePlan:
        """For a key, in whichever uploads it has rows. Raises UnknownKey or NotUnknown."""
        if self._effects.read(record_id(TASK_NAME, key)) is None:
            raise UnknownKey(key)
        rows = self.unknown.of_key(key)
        taken = [row for row in rows if _takes(row, decision)]
        if not taken:
            raise NotUnknown(f"The key {key}", _standing(rows[0]) if rows else "has no row that is unknown")
        # One row is asked again, and the others follow: first of all one that an order left open, which nobody else
        # would end; else the one that asked last.
        chosen = min(taken, key=lambda row: (not row.reopened, not _asked_last(row)))
        return self._plan(decision, [chosen], len(rows) - 1)

    def _plan(self, decision: Decision, rows: Sequence[UnknownRow], following: int) -> ResolvePlan:
        priced = self.unknown.priced(rows, from_file=decision != "billed")
        # Rows that share a key share its attempts.
        by_key = {row.effect_id: row for row in priced}.values()
        doubts = [row.doubted_microusd for row in by_key]
        return ResolvePlan(
            decision,
            rows[0].upload,
            tuple(priced),
            following,
            None if None in doubts else sum(filter(None, doubts)),
            0 if decision == "billed" else sum(self.price(row, self._after(row.record, decision)) for row in by_key),
        )

    def price(self, row: UnknownRow, record: EffectRecord | None) -> int:
        """What asking the row again costs at most, once its record is this one."""
        if record is None or row.request_microusd is None or record.state is State.DONE:
            return 0
        left = self._max_paid_attempts + record.ordered_attempts - record.paid_attempts
        return max(0, left) * row.request_microusd

    def _after(self, record: EffectRecord | None, decision: Decision) -> EffectRecord | None:
        """The record as the decision would leave it."""
        if record is None or record.state is not State.UNKNOWN or self.is_decided(record, decision):
            return record
        if decision == "not-billed":
            return record.after(State.RELEASED, {"paid_attempts": 0})
        return record.after(State.UNKNOWN, {"ordered_attempts": record.ordered_attempts + 1})

    def is_decided(self, record: EffectRecord, decision: Decision) -> bool:
        """Whether nothing is left to decide."""
        match record.state:
            case State.DONE:
                return decision == "billed" and record.reply.reason == ANSWER_LOST
            case State.UNKNOWN:
                return decision == "rerun" and is_ordered(record) and record.attempt_left(self._max_paid_attempts)
            case _:
                return decision != "billed" and record.state is State.RELEASED


def _asked_last(row: UnknownRow) -> bool:
    return row.record is not None and row.record.origin == row_origin(row.item.upload_id, row.item.row_number)


def _takes(row: UnknownRow, decision: Decision) -> bool:
    """Whether a decision can be made about a row, or an earlier one be carried to its end."""
    if row.record is None or (row.reopened and row.upload.state != "done"):
        return False
    match row.record.state:
        case State.UNKNOWN:
            return True
        case State.RELEASED:
            return decision != "billed"
        case State.CLAIMED:
            return row.reopened and decision != "billed"
        case _:
            # Its answer would not reach a row that an order left open.
            return row.reopened


def _standing(row: UnknownRow) -> str:
    if row.record is None:
        return "is unknown, but its record is gone, so nothing can be decided about it"
    if row.record.state is State.RELEASED:
        return "was decided to be not billed, and waits to be asked again"
    if row.reopened or row.record.state is State.CLAIMED:
        return "is being asked again"
    end = row.record.reply.reason or row.record.reply.kind
    return f"has its end by now ({end}), which its rows get with the next tick"
