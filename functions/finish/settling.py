"""What is stored of a row's key, and the row's item where that ends it: how a row and its record are joined again."""

from __future__ import annotations

from functions.classify.effect_item import effect_item, payload_hash
from functions.classify.task import Task
from functions.clock import Clock
from functions.effects.claims import Claims
from functions.effects.errors import KeyConflictError
from functions.effects.record import EffectRecord
from functions.effects.states import State
from functions.effects.table import EffectTable
from functions.intake.open_rows import NOTHING_TO_CLASSIFY
from functions.intake.questions import Question
from functions.uploads.model import Upload
from functions.uploads.rows import RowsTable
from functions.uploads.terminal import RowIdentity, terminal_row

NEVER_ANSWERED = "never_answered"
"""A row was published again as often as allowed, and nothing came of it: a failure that costs nothing, retryable."""
KEY_CONFLICT = "key_conflict"
"""As classify says it: the key is stored with another payload."""


class Settling:
    """Writes the items of rows from the records of their keys. Each write is conditional, so all may be repeated."""

    def __init__(
        self, *, rows: RowsTable, effects: EffectTable, claims: Claims, max_paid_attempts: int, clock: Clock
    ) -> None:
        self._rows = rows
        self._effects = effects
        self._claims = claims
        self._max_paid_attempts = max_paid_attempts
        self._clock = clock

    def look_up(self, questions: list[Question]) -> dict[str, EffectRecord]:
        """The records of these rows' keys by effect id; eventually consistent (see `current`)."""
        return self._effects.read_many([question.effect_id for question in questions if question.effect_id])

    def current(self, record: EffectRecord | None) -> EffectRecord | None:
        """The record as it stands, as far as a stale image could decide wrongly; an expired claim becomes unknown."""
        if record is None or record.state is State.RELEASED:
            # At worst an event too many: the claim decides.
            return record
        if record.state is State.CLAIMED:
            return self._claims.settle_expired(record)
        if record.state is State.UNKNOWN or record.reply.retryable:
            return self._effects.read(record.id)
        return record

    def end(self, upload: Upload, question: Question, record: EffectRecord | None) -> bool:
        """Write the row's item if what is stored is final (or no question can be asked). False: it is not."""
        if not question.key:
            self._put(upload, question, None, NOTHING_TO_CLASSIFY)
        elif record is not None and record.final_without_request(self._max_paid_attempts):
            self._put(upload, question, record)
        else:
            return False
        return True

    def give_up(self, upload: Upload, task: Task, question: Question) -> bool:
        """End a row that never gets an answer, with whatever its key holds then. False: somebody is at it now."""
        item = effect_item(task, question.key, task.rendered(question.fields))
        origin = self._identity(upload, question).origin
        try:
            record = self._claims.give_up(item["id"], payload_hash(item), NEVER_ANSWERED, origin)
        except KeyConflictError:
            self._put(upload, question, None, KEY_CONFLICT)
            return True
        if record.state is State.CLAIMED:
            return False
        # Also an unknown that has an attempt left: nobody is going to make it.
        self._put(upload, question, record)
        return True

    def _put(self, upload: Upload, question: Question, record: EffectRecord | None, failure: str = "") -> None:
        row, now = self._identity(upload, question), int(self._clock())
        item = row.item("failed", now, reason=failure) if record is None else terminal_row(row, record, now)
        self._rows.put_row(item)

    @staticmethod
    def _identity(upload: Upload, question: Question) -> RowIdentity:
        return RowIdentity(upload.upload_id, question.row_number, question.line, question.key, upload.prompt_version)
