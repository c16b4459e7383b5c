"""Settling what is unknown: an operator says that it was billed, that it was not, or has the row asked once more.

The record of the key is moved first. Of what is billed that is all: its rows, in every upload, follow with the next
tick. What is to be asked again has its row opened, and its upload, with a reservation, as `retry` does; the other rows
of the key follow the answer. A death in between is repaired by the same order again, which goes on where it stands.
"""

from __future__ import annotations

from dataclasses import dataclass

from functions.clock import Clock, wall_clock
from functions.crash_points import reach
from functions.effects.errors import MoveRefusedError
from functions.effects.record import EffectRecord
from functions.effects.resolve import Resolver
from functions.effects.states import State
from functions.effects.table import EffectTable
from functions.intake.pipeline import Pipeline
from functions.operate.approve import refuse_too_old
from functions.operate.errors import MovedOn
from functions.operate.opening import Opening
from functions.operate.resolve_plans import Decision, ResolvePlan, ResolvePlans
from functions.operate.unknown import UnknownRow
from functions.uploads.sweeps import SweepsTable
from functions.uploads.table import UploadsTable


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
    """The order, over the tables; `plans` makes what it carries out."""

    def __init__(
        self,
        *,
        plans: ResolvePlans,
        table: UploadsTable,
        sweeps: SweepsTable,
        effects: EffectTable,
        resolver: Resolver,
        clock: Clock = wall_clock,
    ) -> None:
        self.plans = plans
        self._table = table
        self._sweeps = sweeps
        self._effects = effects
        self._resolver = resolver
        self._clock = clock
        self._opening = Opening(table, clock)

    def carry_out(self, plan: ResolvePlan, *, actor: str, reason: str) -> Resolved:
        """Decide as planned; `actor` and `reason` are kept in every record that is moved.

        A record that is not as the plan showed it is left alone; raises MovedOn where that is so of all. Raises
        TooOld, Contended, and what DynamoDB raises; the same order goes on from there.
        """
        upload_id = plan.upload.upload_id
        if plan.asks_again:
            refuse_too_old(plan.upload, self._clock())
        reserved_in = self._opening.extend(upload_id, plan.worst_case_microusd, actor) if plan.asks_again else None

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
                    prices[row.effect_id] = self.plans.price(row, record) if plan.asks_again else 0
        reserved = sum(prices.values())
        if opened:
            self._opening.open(upload_id, reserved, actor, reserved_in=reserved_in)
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
            # Where that asks again, nobody has said that it was billed.
            return None if decision == "billed" and record.state is not State.DONE else record
        if self.plans.is_decided(record, decision):
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
            return moved if moved is not None and self.plans.is_decided(moved, decision) else None
        reach("operate.settle.after")
        return record
