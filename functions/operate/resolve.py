"""Settling what is unknown: an operator says that it was billed, that it was not, or has the row asked once more.

The record of the key is moved first. Of what is billed that is all: its rows, in every upload, follow with the next
tick. What is to be asked again has its row opened, and its upload, with a reservation, as `retry` does; the other rows
of the key follow the answer. A death in between is repaired by the same order again, which goes on where it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from functions.clock import Clock, wall_clock
from functions.crash_points import reach
from functions.effects.errors import MoveRefusedError
from functions.effects.record import EffectRecord
from functions.effects.resolve import ANSWER_LOST, Resolver
from functions.effects.states import State
from functions.effects.table import EffectTable
from functions.finish.rows import OpenSource
from functions.intake.pipeline import Pipeline
from functions.operate.approve import find
from functions.operate.audit import TASK_NAME
from functions.operate.errors import Contended, MovedOn, NothingUnknown, NotUnknown, UnknownKey
from functions.operate.unknown import UnknownRow, UnknownRows, is_ordered
from functions.uploads.budget import budget_day
from functions.uploads.keys import record_id, row_origin
from functions.uploads.model import Upload
from functions.uploads.sweeps import SweepsTable
from functions.uploads.table import UploadsTable

Decision = Literal["billed", "not-billed", "rerun"]
"""`billed`: it happened, and its answer is lost. `not-billed`: none of its attempts happened, so it is asked again, as
if for the first time. `rerun`: nobody can tell, and it is asked again at the risk of a second bill."""
_TRIES = 5


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


@dataclass(frozen=True)
class Resolved:
    """`settled` rows are as it was decided, and `opened` of them are open again, for at most `reserved_microusd`.

    `moved_on`: rows whose record is not the one any more that the plan showed; they were left alone.
    """

    upload_id: str
    decision: Decision
    settled: int
    moved_on: int
    opened: int
    reserved_microusd: int


class Resolve:
    """The order, over the tables and the uploaded objects. `max_paid_attempts` is the deployed setting."""

    def __init__(
        self,
        *,
        table: UploadsTable,
        sweeps: SweepsTable,
        effects: EffectTable,
        resolver: Resolver,
        open_source: OpenSource,
        max_paid_attempts: int,
        clock: Clock = wall_clock,
    ) -> None:
        self.unknown = UnknownRows(table=table, effects=effects, open_source=open_source)
        self._table = table
        self._sweeps = sweeps
        self._effects = effects
        self._resolver = resolver
        self._max_paid_attempts = max_paid_attempts
        self._clock = clock

    # --- plans: nothing is changed -----------------------------------------------------------------------------------

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
            0 if decision == "billed" else sum(self._price(row, self._after(row.record, decision)) for row in by_key),
        )

    def _price(self, row: UnknownRow, record: EffectRecord | None) -> int:
        if record is None or row.request_microusd is None or record.state is State.DONE:
            return 0
        left = self._max_paid_attempts + record.ordered_attempts - record.paid_attempts
        return max(0, left) * row.request_microusd

    def _after(self, record: EffectRecord | None, decision: Decision) -> EffectRecord | None:
        """The record as the decision would leave it."""
        if record is None or record.state is not State.UNKNOWN or self._is_decided(record, decision):
            return record
        if decision == "not-billed":
            return record.after(State.RELEASED, {"paid_attempts": 0})
        return record.after(State.UNKNOWN, {"ordered_attempts": record.ordered_attempts + 1})

    # --- the order ---------------------------------------------------------------------------------------------------

    def carry_out(self, plan: ResolvePlan, *, actor: str, reason: str) -> Resolved:
        """Decide as planned; `actor` and `reason` are kept in every record that is moved.

        A record that is not as the plan showed it is left alone; raises MovedOn where that is so of all. Raises
        Contended, and what DynamoDB raises; the same order goes on from there.
        """
        upload_id = plan.upload.upload_id
        extended = plan.asks_again and self._extend(upload_id, plan.worst_case_microusd, actor)

        def settle(row: UnknownRow) -> EffectRecord | None:
            return self._settle_and_open(row, plan, actor, reason)

        settled, opened, prices = 0, 0, dict[str, int]()
        with Pipeline() as pipeline:
            for row, record in pipeline.each(settle, plan.rows):
                if record is None:
                    continue
                settled += 1
                if plan.asks_again or row.reopened:
                    opened += 1
                    prices[row.effect_id] = self._price(row, record) if plan.asks_again else 0
        reserved = sum(prices.values())
        if opened:
            self._open_upload(upload_id, reserved, actor, extended=extended)
        reach("operate.look_up_now.before")
        self._sweeps.begin_anew("attention")
        reach("operate.look_up_now.after")
        if not settled:
            raise MovedOn(upload_id)
        return Resolved(upload_id, plan.decision, settled, len(plan.rows) - settled, opened, reserved)

    def _settle_and_open(self, row: UnknownRow, plan: ResolvePlan, actor: str, reason: str) -> EffectRecord | None:
        record = self._settle(row, plan.decision, actor, reason)
        if record is not None and plan.asks_again and not row.reopened:
            reach("operate.reopen_row.before")
            # Where it is refused, its key has an answer by now, which has replaced its item or is about to.
            self._table.reopen_row(row.item)
            reach("operate.reopen_row.after")
        return record

    def _settle(self, row: UnknownRow, decision: Decision, actor: str, reason: str) -> EffectRecord | None:
        """The record, decided upon; None where it is not the one any more that the plan showed."""
        record = self._effects.read(row.effect_id)
        if record is None or row.record is None:
            return None
        if row.reopened and record.state is not State.UNKNOWN:
            # An order that was cut off opened the row: whatever came of its key by now, it only has to be carried on.
            return record
        if self._is_decided(record, decision):
            # By this same order before it was cut off, or for another row of the key.
            return record if record.attempt == row.record.attempt else None
        if (record.attempt, record.resolutions) != (row.record.attempt, row.record.resolutions):
            # Somebody decided otherwise since the plan was made; nothing of theirs is overruled unseen.
            return None
        decide = {
            "billed": self._resolver.prove_happened,
            "not-billed": self._resolver.prove_none_happened,
            "rerun": self._resolver.order_attempt,
        }[decision]
        reach("operate.settle.before")
        try:
            record = decide(record, actor=actor, reason=reason)
        except MoveRefusedError:
            # Another row of this key, or another operator, was faster.
            moved = self._effects.read(row.effect_id)
            return moved if moved is not None and self._is_decided(moved, decision) else None
        reach("operate.settle.after")
        return record

    def _is_decided(self, record: EffectRecord, decision: Decision) -> bool:
        """Whether nothing is left to decide."""
        match record.state:
            case State.DONE:
                return decision == "billed" and record.reply.reason == ANSWER_LOST
            case State.UNKNOWN:
                return decision == "rerun" and is_ordered(record) and record.attempt_left(self._max_paid_attempts)
            case _:
                return decision != "billed" and record.state is State.RELEASED

    def _extend(self, upload_id: str, microusd: int, actor: str) -> bool:
        """Of an upload that is not done, reserve before any of its rows can be asked again. False: it is done."""
        for _ in range(_TRIES):
            upload = find(self._table, upload_id)
            if upload.state == "done":
                return False
            if self._reserved(upload, microusd, actor):
                return True
        raise Contended(upload_id)

    def _open_upload(self, upload_id: str, microusd: int, actor: str, *, extended: bool) -> None:
        """Open an upload that is done; the rows of one that runs are published by its sweep, or as it is resumed."""
        for _ in range(_TRIES):
            upload = find(self._table, upload_id)
            if upload.state == "done":
                # Refused where another order opens it: then its pass, or the sweep behind it, takes these rows along.
                settled = self._reopened(upload, microusd, actor)
            else:
                settled = extended or self._reserved(upload, microusd, actor)
            if settled:
                return
        raise Contended(upload_id)

    def _reserved(self, upload: Upload, microusd: int, actor: str) -> bool:
        reach("operate.extend.before")
        extended = self._table.extend(upload, actor=actor, day=budget_day(self._clock()), reserve_microusd=microusd)
        reach("operate.extend.after")
        return extended

    def _reopened(self, upload: Upload, microusd: int, actor: str) -> bool:
        reach("operate.reopen.before")
        day = budget_day(self._clock()) if microusd else ""
        reopened = self._table.reopen(upload, actor=actor, day=day, reserve_microusd=microusd, publish=True)
        reach("operate.reopen.after")
        return reopened


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
