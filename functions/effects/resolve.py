"""What an operator or a reconciler may do to a record; actor and reason are kept in it."""

from __future__ import annotations

from functions.clock import Clock, wall_clock
from functions.effects.errors import MoveRefusedError
from functions.effects.outcomes import Outcome
from functions.effects.record import EffectRecord, Resolution
from functions.effects.states import Event, State, move_for
from functions.effects.table import EffectTable, Refused

ANSWER_LOST = "answer_lost"
PROVEN_ABSENT = "proven_absent"
ORDERED_RERUN = "operator_rerun"


class Resolver:
    """Moves of the table that need a person or a proof. Each raises MoveRefusedError where it does not exist now.

    A decision is about the record that was looked at: it is refused once anybody moved on, and so never settles an
    attempt that nobody has looked at.
    """

    def __init__(self, table: EffectTable, *, retention_days: int | None, clock: Clock = wall_clock) -> None:
        self._table = table
        self._retention_days = retention_days
        self._clock = clock

    def order_attempt(self, seen: EffectRecord, *, actor: str, reason: str) -> EffectRecord:
        """Allow one more attempt at an unknown effect: it may be billed a second time."""
        changes: dict[str, object] = {"ordered_attempts": seen.ordered_attempts + 1}
        return self._resolve(seen, Event.ORDER_ATTEMPT, changes, actor=actor, reason=reason)

    def prove_happened(
        self, seen: EffectRecord, *, actor: str, reason: str, outcome: Outcome | None = None
    ) -> EffectRecord:
        """The unknown effect happened: store its outcome, or, when only the bill proves it, that the answer is lost."""
        # What was asked of which model is known, and all that is left to audit.
        asked = seen.outcome.audit if seen.outcome else {}
        known = outcome or Outcome.failed(ANSWER_LOST, paid=True, **asked)
        return self._resolve(seen, Event.PROVE_HAPPENED, self._done(known), actor=actor, reason=reason)

    def prove_none_happened(self, seen: EffectRecord, *, actor: str, reason: str) -> EffectRecord:
        """None of the unknown attempts happened: nothing was billed, and the effect may run again."""
        seen = self.prove_absent(seen, actor=actor, reason=reason)
        while seen.state is State.UNKNOWN:
            seen = self.prove_absent(seen, actor=actor, reason=reason)
        return seen

    def prove_absent(self, seen: EffectRecord, *, actor: str, reason: str) -> EffectRecord:
        """The unknown attempt did not happen. If it was the only one, nothing was billed and the effect may run again;
        of several, the others stay unknown.
        """
        if seen.paid_attempts > 1:
            return self._resolve(seen, Event.PROVE_ONE_ABSENT, {}, actor=actor, reason=reason)
        changes: dict[str, object] = {"outcome": Outcome.released(PROVEN_ABSENT)}
        return self._resolve(seen, Event.PROVE_ABSENT, changes, actor=actor, reason=reason)

    def rerun(self, seen: EffectRecord, *, actor: str, reason: str) -> EffectRecord:
        """Let a failure that was never billed run again."""
        changes: dict[str, object] = {"outcome": Outcome.released(ORDERED_RERUN)}
        return self._resolve(seen, Event.RERUN, changes, actor=actor, reason=reason, remove=("expiration",))

    def _resolve(
        self,
        seen: EffectRecord,
        event: Event,
        changes: dict[str, object],
        *,
        actor: str,
        reason: str,
        remove: tuple[str, ...] = (),
    ) -> EffectRecord:
        move = move_for(seen.state, event)
        if move is None:
            raise MoveRefusedError(f"a record that is {seen.state} cannot be moved by «{event}»; nothing was changed")
        resolution = Resolution(event=event, actor=actor, reason=reason, at=int(self._clock()))
        result = self._table.apply(
            seen,
            move,
            changes={
                **changes,
                "paid_attempts": seen.paid_attempts + (move.paid or 0),
                "resolutions": (*seen.resolutions, resolution),
            },
            remove=remove,
        )
        if isinstance(result, Refused):
            if result.current and _holds(result.current, resolution, at=len(seen.resolutions)):
                # The response of this very write was lost and boto3 repeated it.
                return result.current
            raise MoveRefusedError("the record moved or does not allow this; look at it again, nothing was changed")
        return result

    def _done(self, outcome: Outcome) -> dict[str, object]:
        now = int(self._clock())
        changes: dict[str, object] = {"outcome": outcome, "finished_at": now}
        if self._retention_days is not None:
            changes["expiration"] = now + self._retention_days * 86_400
        return changes


def _holds(record: EffectRecord, resolution: Resolution, *, at: int) -> bool:
    return record.resolutions[at : at + 1] == (resolution,)
