"""From what is stored of a key to the row's terminal item, its dead letter and its message.

Order is what keeps "nothing lost": the dead letter before the row's item, the copy before the acknowledgement. A
death in between repeats a step at the next delivery and skips none.
"""

from __future__ import annotations

from dataclasses import dataclass

from functions.classify.delays import Delays
from functions.classify.effect_item import payload_hash
from functions.classify.pausing import Pauses
from functions.classify.queues import Queues
from functions.classify.results import Ending, Result
from functions.classify.row_event import Message, Row, RowData
from functions.clock import Clock, wall_clock
from functions.effects.errors import KeyConflictError
from functions.effects.record import EffectRecord
from functions.effects.states import State
from functions.effects.store import EffectStore
from functions.failures import describe
from functions.uploads.model import RowItem
from functions.uploads.rows import RowsTable
from functions.uploads.terminal import terminal_row

KEY_CONFLICT = "key_conflict"
GIVEN_UP = "given_up"


@dataclass(frozen=True)
class Met:
    """What a row's guarded call met: the stored record, and why there is no outcome yet (`reason`, for a retry).

    `wait_s`: how long the provider asked to wait. `conflict`: the key is stored with another payload. `pauses`: the
    model refuses the account, not the row.
    """

    record: EffectRecord | None
    reason: str = ""
    wait_s: float | None = None
    conflict: bool = False
    pauses: bool = False
    error: dict[str, str] | None = None


class Settlement:
    """Ends a row's delivery. `max_receives` is the queue's: at the last of them the row gets its item, or a copy."""

    def __init__(
        self,
        *,
        rows: RowsTable,
        store: EffectStore,
        queues: Queues,
        delays: Delays,
        max_receives: int,
        max_paid_attempts: int,
        clock: Clock = wall_clock,
    ) -> None:
        self._rows = rows
        self._store = store
        self._queues = queues
        self._delays = delays
        self._max_receives = max_receives
        self._max_paid_attempts = max_paid_attempts
        self._clock = clock

    def settle(self, row: Row, met: Met, pauses: Pauses) -> Result:
        """What the record says, written once; or the message's next delivery, or its end."""
        record = met.record
        paused = met.pauses and pauses.pause(row.upload, met.reason)
        last = row.message.receives >= self._max_receives
        if met.conflict:
            return self.fail(row.message, row.data, row.task.prompt_version, KEY_CONFLICT)
        if record and self._is_final(record, last):
            return self._finish(row, record, met)
        if record and record.state is State.CLAIMED:
            return self._wait_for_lease(row, record.lease_until, met, last=last)
        if met.pauses:
            # Whatever the number of receives: a refusal of the account is never the end of a row.
            return self._hold(row, met, paused=paused, last=last)
        return self._give_up(row, met) if last else self._retry(row, met)

    def fail(self, message: Message, data: RowData, prompt_version: str, reason: str) -> Result:
        """A final failure that no record holds: nothing was claimed, sent or billed for this row."""
        return self._end(message, data.identity(prompt_version).item("failed", self._now(), reason=reason))

    def _is_final(self, record: EffectRecord, last: bool) -> bool:
        # An unknown with an attempt left waits for the next delivery; where there is none, it is said.
        return record.final_without_request(self._max_paid_attempts) or (last and record.state is State.UNKNOWN)

    def _finish(self, row: Row, record: EffectRecord, met: Met) -> Result:
        return self._end(
            row.message, terminal_row(row.data.identity(row.task.prompt_version), record, self._now()), met.error
        )

    def _end(self, message: Message, item: RowItem, error: dict[str, str] | None = None) -> Result:
        if item.outcome == "failed" and self._rows.get_row(item.upload_id, item.row_number) is None:
            self._queues.dead_letter(message.body, item.reason, upload_id=item.upload_id, row_number=item.row_number)
        written = self._rows.put_row(item)
        return self._result(
            message,
            item,
            item.outcome if written else "repeated",
            acknowledged=True,
            reason=item.reason,
            cost_microusd=item.cost_microusd if written else 0,
            error=error,
        )

    def _hold(self, row: Row, met: Met, *, paused: bool, last: bool) -> Result:
        if paused:
            return self._result(row.message, row.data, "held", acknowledged=True, reason=met.reason, pauses=True)
        # Resumed since this batch read the upload: what was refused may be mended.
        if not last:
            return self._retry(row, met)
        self._queues.send_again(row.message.body, self._delays.send_delay(0))
        return self._result(row.message, row.data, "copied", acknowledged=True, reason=met.reason, pauses=True)

    def _wait_for_lease(self, row: Row, lease_until: float, met: Met, *, last: bool) -> Result:
        rest = lease_until - self._clock()
        if last:
            self._queues.send_again(row.message.body, self._delays.send_delay(rest))
            return self._result(row.message, row.data, "copied", acknowledged=True, reason=met.reason, error=met.error)
        error = self._come_back(row.message, self._delays.after(rest))
        return self._result(row.message, row.data, "in_progress", reason=met.reason, error=met.error or error)

    def _retry(self, row: Row, met: Met) -> Result:
        wait = self._delays.back_off(row.message.receives) if met.wait_s is None else self._delays.after(met.wait_s)
        error = self._come_back(row.message, wait)
        return self._result(
            row.message, row.data, "retry", reason=met.reason, pauses=met.pauses, error=met.error or error
        )

    def _give_up(self, row: Row, met: Met) -> Result:
        try:
            record = self._store.give_up(
                row.item["id"], payload_hash(row.item), met.reason or GIVEN_UP, row.data.origin
            )
        except KeyConflictError:
            return self.fail(row.message, row.data, row.task.prompt_version, KEY_CONFLICT)
        if record.state is State.CLAIMED:
            return self._wait_for_lease(row, record.lease_until, met, last=True)
        given_up_here = record.origin == row.data.origin and record.reply.retryable
        if not given_up_here:
            return self._finish(row, record, met)
        item = terminal_row(row.data.identity(row.task.prompt_version), record, self._now())
        self._rows.put_row(item)
        # Left unacknowledged and visible at once: the queue's redrive takes it, payload and all, to the DLQ.
        error = self._come_back(row.message, 0)
        return self._result(row.message, item, "given_up", reason=item.reason, error=met.error or error)

    def _come_back(self, message: Message, seconds: int) -> dict[str, str] | None:
        try:
            self._queues.come_back(message.receipt, seconds)
        except Exception as error:  # noqa: BLE001 - only the moment is lost: the queue's own visibility timeout holds
            return describe(error)
        return None

    def _now(self) -> int:
        return int(self._clock())

    @staticmethod
    def _result(
        message: Message,
        of: RowData | RowItem,
        ending: Ending,
        *,
        acknowledged: bool = False,
        reason: str = "",
        cost_microusd: int = 0,
        pauses: bool = False,
        error: dict[str, str] | None = None,
    ) -> Result:
        return Result(
            message.message_id,
            ending,
            acknowledged,
            reason=reason,
            upload_id=of.upload_id,
            row_number=of.row_number,
            cost_microusd=cost_microusd,
            pauses=pauses,
            error=error,
        )
