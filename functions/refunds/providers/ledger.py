"""The provider whose refund is the ledger's own row: the row is the effect."""

from __future__ import annotations

from functions.clock import Clock, wall_clock
from functions.refunds.errors import KeyReusedError, RefundError
from functions.refunds.ledger import Ledger
from functions.refunds.model import Action
from functions.refunds.providers.protocol import Absent, BeforeSend, Found, LookUp, Reply

OUT_OF_TIME = Reply("released", "out_of_time")


def _refused(error: RefundError) -> Reply:
    # Another refund's row under this key: money moved, though not as it was approved.
    return Reply("released" if error.retryable else "failed", error.code, paid=isinstance(error, KeyReusedError))


class LedgerProvider:
    """Its key is the row's, which is kept for ever: a repeat is refused by the write itself."""

    keys_retention_s: float | None = None

    def __init__(self, ledger: Ledger, clock: Clock = wall_clock) -> None:
        self._ledger = ledger
        self._clock = clock

    def refund(self, action: Action, *, idempotency_key: str, before_send: BeforeSend) -> Reply:
        if not before_send():
            return OUT_OF_TIME
        try:
            row, _ = self._ledger.create_refund(action, refund_id=idempotency_key, at=int(self._clock()))
        except RefundError as refused:
            return _refused(refused)
        return Reply("succeeded", refund_id=row.refund_id)

    def look_up(self, action: Action) -> LookUp:
        row = self._ledger.get_refund(action.request_id)
        return Absent() if row is None else Found(Reply("succeeded", refund_id=row.refund_id))
