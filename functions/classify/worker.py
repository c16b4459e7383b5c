"""The use case: a batch of the queue's messages in, every row classified once, what became of each message out.

Powertools' BatchProcessor is not used: it runs record by record and so would meet a key twice in a batch, it counts a
row held elsewhere as a failure without moving its visibility, and it raises where every row failed, which throws away
what was decided for each of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyAlreadyInProgressError

from functions.classify.billing import PAUSES
from functions.classify.effect import Guarded
from functions.classify.pausing import Pauses, Uploads
from functions.classify.reception import Reception
from functions.classify.results import Result
from functions.classify.row_event import Message, Row
from functions.classify.settlement import Met, Settlement
from functions.effects.errors import KeyConflictError
from functions.effects.outcomes import Outcome
from functions.effects.run import new_run
from functions.failures import describe

MAX_THREADS = 32
IN_PROGRESS = "in_progress"
HANDLER_ERROR = "handler_error"


class Worker:
    """Classifies batches. Safe to call again and again with the same messages, at once or later."""

    def __init__(self, *, uploads: Uploads, reception: Reception, settlement: Settlement, guarded: Guarded) -> None:
        self._uploads = uploads
        self._reception = reception
        self._settlement = settlement
        self._guarded = guarded

    def handle(self, messages: Sequence[Message], deadline: float) -> list[Result]:
        """One result per message. `deadline`: when this invocation is killed, seconds since the epoch.

        Returns only when every thread has ended, so no request is under way when the sandbox is frozen.
        """
        rows, results = self._reception.receive(messages)
        # Each key once a batch: its other rows get their items from the same record.
        groups: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            groups[row.item["id"]].append(row)
        pauses = Pauses(self._uploads)
        if groups:
            with ThreadPoolExecutor(min(len(groups), MAX_THREADS), thread_name_prefix="row") as pool:
                pending = [pool.submit(self._classify, group, deadline, pauses) for group in groups.values()]
            results += [result for done in pending for result in done.result()]
        return results

    def _classify(self, rows: list[Row], deadline: float, pauses: Pauses) -> list[Result]:
        met = self._meet(rows[0], deadline)
        return [self._settle(row, met, pauses) for row in rows]

    def _meet(self, row: Row, deadline: float) -> Met:
        with new_run(deadline=deadline, origin=row.data.origin) as run:
            try:
                outcome = Outcome.model_validate(self._guarded(item=row.item, task=row.task))
            except IdempotencyAlreadyInProgressError:
                return Met(run.record, IN_PROGRESS)
            except KeyConflictError:
                return Met(None, conflict=True)
            except Exception as error:  # noqa: BLE001 - the run's record says what it came to: released, unknown, claimed
                return Met(run.record, HANDLER_ERROR, error=describe(error))
            # The record, not this value, is what the row's item is written from; only the wait is taken from here.
            return Met(run.record, outcome.reason, wait_s=outcome.retry_after_s, pauses=outcome.reason in PAUSES)

    def _settle(self, row: Row, met: Met, pauses: Pauses) -> Result:
        try:
            return self._settlement.settle(row, met, pauses)
        except Exception as error:  # noqa: BLE001 - this row comes again; the others of its key are settled
            return Result(
                row.message.message_id,
                "error",
                acknowledged=False,
                reason=HANDLER_ERROR,
                upload_id=row.data.upload_id,
                row_number=row.data.row_number,
                error=describe(error),
            )
