"""Joining the ledger to a final outcome: the refund row, or the returned commitment; the action is closed with either.

The record and the ledger are not one transaction. Whoever sees a final record whose action is open writes the rest:
the call itself, a repeat of it, or the reconciler.
"""

from __future__ import annotations

from functions.clock import Clock, wall_clock
from functions.effects.record import EffectRecord
from functions.effects.states import State
from functions.refunds.ledger import Ledger
from functions.refunds.model import Action


class Closing:
    """Safe to repeat, by many at once."""

    def __init__(self, ledger: Ledger, clock: Clock = wall_clock) -> None:
        self._ledger = ledger
        self._clock = clock

    def close(self, action: Action, record: EffectRecord) -> bool:
        """Write what follows from the record; False where nothing does yet."""
        if record.state is not State.DONE:
            return False
        now, outcome = int(self._clock()), record.reply
        if outcome.kind == "succeeded":
            self._ledger.create_refund(action, refund_id=str(outcome.result.get("refund_id", "")), at=now)
        else:
            # What may have been paid stays committed, or the order could be refunded beyond what was paid.
            self._ledger.close_failed(action, at=now, return_commitment=not outcome.paid)
        return True
