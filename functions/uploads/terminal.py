"""From the stored record of a key to the terminal item of a row: the one place where the two meet. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from functions.effects.record import EffectRecord
from functions.uploads.keys import row_origin
from functions.uploads.model import RowItem, RowOutcome

_OUTCOMES: dict[str, RowOutcome] = {"succeeded": "classified", "failed": "failed", "unknown": "unknown"}


@dataclass(frozen=True)
class RowIdentity:
    """Which row it is, and the key its answer is stored under."""

    upload_id: str
    row_number: int
    line: int
    key: str
    prompt_version: str

    @property
    def origin(self) -> str:
        return row_origin(self.upload_id, self.row_number)

    def item(self, outcome: RowOutcome, now: int, **more: Any) -> RowItem:
        """The item of this row, ended at `now` (seconds since the epoch)."""
        return RowItem(outcome=outcome, finished_at=now, **vars(self), **more)


def terminal_row(row: RowIdentity, record: EffectRecord, now: int) -> RowItem:
    """The row's item, from a record that is DONE or UNKNOWN (ValueError otherwise).

    Whether the row was answered without a request of its own is told by the record, not by who writes the item:
    after a kill, a redelivery or the publisher may find the answer that this very row paid for.
    """
    reply = record.reply
    if reply.kind not in _OUTCOMES:
        raise ValueError(f"a record that is {record.state} ends no row")
    known = record.origin != row.origin
    return row.item(
        _OUTCOMES[reply.kind],
        now,
        label=str(reply.result.get("label", "")),
        reason=reply.reason,
        retryable=reply.retryable,
        # The last attempt may have been refused unbilled after one that nobody knows of.
        paid=reply.paid or record.paid_attempts > 0,
        paid_attempts=record.paid_attempts,
        known=known,
        model=str(reply.audit.get("model", "")),
        request_id=str(reply.audit.get("request_id", "")),
        cost_microusd=0 if known else int(reply.result.get("cost_microusd", 0)),
        attempt=record.attempt,
    )
