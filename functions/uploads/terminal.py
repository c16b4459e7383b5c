"""From the stored record of a key to the terminal item of a row: the one place where the two meet. Pure."""

from __future__ import annotations

from functions.effects.record import EffectRecord
from functions.uploads.keys import row_origin
from functions.uploads.model import RowItem, RowOutcome

_OUTCOMES: dict[str, RowOutcome] = {"succeeded": "classified", "failed": "failed", "unknown": "unknown"}


def terminal_row(record: EffectRecord, *, upload_id: str, row_number: int, line: int, key: str) -> RowItem:
    """The row's item, from a record that is DONE or UNKNOWN (ValueError otherwise).

    Whether the row was answered without a request of its own is told by the record, not by who writes the item:
    after a kill, a redelivery or the publisher may find the answer that this very row paid for.
    """
    reply = record.reply
    if reply.kind not in _OUTCOMES:
        raise ValueError(f"a record that is {record.state} ends no row")
    known = record.origin != row_origin(upload_id, row_number)
    return RowItem(
        upload_id=upload_id,
        row_number=row_number,
        line=line,
        key=key,
        outcome=_OUTCOMES[reply.kind],
        label=str(reply.result.get("label", "")),
        reason=reply.reason,
        retryable=reply.retryable,
        paid=reply.paid,
        known=known,
        model=str(reply.audit.get("model", "")),
        prompt_version=str(reply.audit.get("prompt_version", "")),
        request_id=str(reply.audit.get("request_id", "")),
        cost_microusd=0 if known else int(reply.result.get("cost_microusd", 0)),
        attempt=record.attempt,
        finished_at=record.finished_at or 0,
    )
