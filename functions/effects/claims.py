"""Claiming and settling the effect of one key, by the moves of the table alone."""

from __future__ import annotations

from dataclasses import dataclass

from functions.clock import Clock, wall_clock
from functions.effects.errors import KeyConflictError, UnsettledClaimError
from functions.effects.outcomes import Outcome
from functions.effects.record import EffectRecord
from functions.effects.run import Run
from functions.effects.states import Event, Move, Reply, State, move_for, paid_by, reply_to_claim
from functions.effects.table import EffectTable, Refused

_LOOKS = 10
"""How often a call follows a record that others keep moving. Each further look means that somebody made progress."""

LEASE_EXPIRED = "lease_expired_outcome_unknown"
CLAIM_IN_DOUBT = "claim_answer_lost"
EARLIER_IN_DOUBT = "earlier_attempt_outcome_unknown"


@dataclass(frozen=True)
class Claimed:
    """The caller owns the attempt and must settle it."""

    record: EffectRecord


@dataclass(frozen=True)
class Answered:
    """The outcome is there already; nothing is to be run."""

    record: EffectRecord


@dataclass(frozen=True)
class Busy:
    """Somebody else's claim is alive until `record.lease_until`."""

    record: EffectRecord


class Claims:
    """The use cases of the effect core. `lease_grace_s` is added to the invocation's deadline to get the lease."""

    def __init__(
        self,
        table: EffectTable,
        *,
        max_paid_attempts: int,
        retention_days: int | None,
        lease_grace_s: float = 5.0,
        clock: Clock = wall_clock,
    ) -> None:
        self._table = table
        self._max_paid_attempts = max_paid_attempts
        self._retention_days = retention_days
        self._lease_grace_s = lease_grace_s
        self._clock = clock

    def claim(self, effect_id: str, payload_hash: str, run: Run) -> Claimed | Answered | Busy:
        """Become the one owner of the next attempt, or be told the outcome or whose turn it is.

        Raises KeyConflictError when the key is stored with another payload: two effects under one identity.
        """
        first = EffectRecord(
            id=effect_id, state=State.CLAIMED, attempt=1, payload_hash=payload_hash, **self._claim_of(run)
        )
        refused = self._table.create(Event.CLAIM, first)
        if refused is None:
            return Claimed(first)
        return self._claim_existing(first, refused.current, run)

    def _claim_existing(self, first: EffectRecord, seen: EffectRecord | None, run: Run) -> Claimed | Answered | Busy:
        for _ in range(_LOOKS):
            if seen is None:
                refused = self._table.create(Event.CLAIM, first)
                if refused is None:
                    return Claimed(first)
                seen = refused.current
                continue
            _compare_payload(seen, first.payload_hash)
            match self._reply(seen, run):
                case Reply.MINE:
                    return Claimed(seen)
                case Reply.REPLAY:
                    return Answered(seen)
                case Reply.IN_PROGRESS:
                    return Busy(seen)
                case Reply.EXPIRE:
                    seen = self._expire(seen)
                case Reply.CLAIM:
                    result = self._claim_again(seen, run)
                    if isinstance(result, EffectRecord):
                        return Claimed(result)
                    seen = result.current
        raise UnsettledClaimError("the record was moved by others under every look at it")

    def _claim_again(self, seen: EffectRecord, run: Run) -> EffectRecord | Refused:
        return self._table.apply(
            seen,
            _line(seen.state, Event.CLAIM),
            changes={"attempt": seen.attempt + 1, **self._claim_of(run)},
            remove=("outcome", "finished_at"),
        )

    def _reply(self, seen: EffectRecord, run: Run) -> Reply:
        return reply_to_claim(
            seen.state,
            own=seen.owner == run.owner,
            lease_over=seen.lease_until_ms < self._now_ms(),
            attempt_left=seen.attempt_left(self._max_paid_attempts),
        )

    def settle(self, effect_id: str, run: Run, outcome: Outcome) -> EffectRecord | None:
        """Store what the run's attempt came to, and return what is stored then.

        A late owner's final outcome is kept while nobody claimed since. Once the attempt moved on, nothing is
        written but the count of late answers: the first answer stays. None: the item is gone (its TTL ran out).
        """
        if run.record is None or run.attempt is None:
            raise UnsettledClaimError("a run settles only the attempt that it claimed")
        if outcome.kind == "released" and run.record.paid_attempts:
            # This attempt was not billed, but one before it may have been, and of that nothing is known still.
            outcome = Outcome.unknown(EARLIER_IN_DOUBT, released=outcome.reason, **outcome.audit)
            event = Event.RELEASE_IN_DOUBT
        else:
            event = _SETTLES[outcome.kind]
        seen: EffectRecord | None = run.record
        for _ in range(_LOOKS):
            if seen is None:
                return None
            if _holds_result_of(seen, run, event, outcome):
                # The response of this very write was lost and boto3 repeated it.
                return seen
            move = move_for(seen.state, event)
            if move is None or seen.owner != run.owner or seen.attempt != run.attempt:
                break
            result = self._apply(seen, event, self._settled(seen, move, outcome), owner=run.owner)
            if isinstance(result, EffectRecord):
                return result
            seen = result.current
        return self._table.count_late_answer(effect_id) if event is Event.FINISH else seen

    def withdraw(self, effect_id: str, run: Run) -> EffectRecord | None:
        """Release the claim that this run may have made without learning of it; returns what is stored then.

        Only for a run that has sent nothing: left alone, its claim would be taken for an attempt in doubt.
        """
        seen = self._table.read(effect_id)
        if seen is None or seen.owner != run.owner or seen.state is not State.CLAIMED:
            return seen
        run.record, run.attempt = seen, seen.attempt
        return self.settle(effect_id, run, Outcome.released(CLAIM_IN_DOUBT))

    def give_up(self, effect_id: str, payload_hash: str, reason: str, origin: str) -> EffectRecord:
        """Retries are exhausted and nothing was billed: a final, retryable failure.

        Returns what is stored then: that failure, or whatever else had come of the key. A record that is CLAIMED is
        returned as it is while its lease lives.
        """
        outcome = Outcome.failed(reason, paid=False, retryable=True)
        now = self._now_s()
        given_up = EffectRecord(
            id=effect_id,
            state=State.DONE,
            attempt=0,
            payload_hash=payload_hash,
            origin=origin,
            finished_at=now,
            outcome=outcome,
        )
        seen = self._table.read(effect_id)
        for _ in range(_LOOKS):
            if seen is None:
                refused = self._table.create(Event.GIVE_UP, given_up, self._expires_at())
                if refused is None:
                    return given_up
                seen = refused.current
                continue
            _compare_payload(seen, payload_hash)
            if seen.state is State.CLAIMED and seen.lease_until_ms < self._now_ms():
                seen = self._expire(seen)
                continue
            move = move_for(seen.state, Event.GIVE_UP)
            if move is None:
                return seen
            result = self._apply(seen, Event.GIVE_UP, self._settled(seen, move, outcome) | {"origin": origin})
            if isinstance(result, EffectRecord):
                return result
            seen = result.current
        raise UnsettledClaimError("the record was moved by others under every look at it")

    def settle_expired(self, record: EffectRecord) -> EffectRecord | None:
        """Say of a claim whose owner is certainly gone that its outcome is unknown; anything else stays as it is."""
        if record.state is State.CLAIMED and record.lease_until_ms < self._now_ms():
            return self._expire(record)
        return record

    def _expire(self, seen: EffectRecord) -> EffectRecord | None:
        doubt = Outcome.unknown(LEASE_EXPIRED)
        move = _line(seen.state, Event.EXPIRE)
        result = self._apply(seen, Event.EXPIRE, self._settled(seen, move, doubt))
        return result.current if isinstance(result, Refused) else result

    def _apply(
        self, seen: EffectRecord, event: Event, changes: dict[str, object], *, owner: str = ""
    ) -> EffectRecord | Refused:
        move = _line(seen.state, event)
        return self._table.apply(seen, move, owner=owner, now_ms=self._now_ms(), changes=changes)

    def _claim_of(self, run: Run) -> dict[str, object]:
        return {
            "owner": run.owner,
            "lease_until_ms": int((run.deadline + self._lease_grace_s) * 1000),
            "claimed_at": self._now_s(),
            "origin": run.origin,
        }

    def _settled(self, seen: EffectRecord, move: Move, outcome: Outcome) -> dict[str, object]:
        changes: dict[str, object] = {
            "outcome": outcome,
            "finished_at": self._now_s(),
            "paid_attempts": seen.paid_attempts + paid_by(move, outcome.paid, one_proven_absent=seen.one_proven_absent),
        }
        if move.end is State.DONE and self._retention_days is not None:
            changes["expiration"] = self._expires_at()
        return changes

    def _expires_at(self) -> int | None:
        return None if self._retention_days is None else self._now_s() + self._retention_days * 86_400

    def _now_s(self) -> int:
        return int(self._clock())

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)


_SETTLES = {
    "succeeded": Event.FINISH,
    "failed": Event.FINISH,
    "released": Event.RELEASE,
    "unknown": Event.DOUBT,
}
_ENDS = {
    Event.FINISH: State.DONE,
    Event.RELEASE: State.RELEASED,
    Event.RELEASE_IN_DOUBT: State.UNKNOWN,
    Event.DOUBT: State.UNKNOWN,
}


def _holds_result_of(seen: EffectRecord, run: Run, event: Event, outcome: Outcome) -> bool:
    return (
        seen.owner == run.owner
        and seen.attempt == run.attempt
        and seen.state is _ENDS[event]
        and seen.outcome == outcome
    )


def _compare_payload(seen: EffectRecord, payload_hash: str) -> None:
    if seen.payload_hash != payload_hash:
        raise KeyConflictError("this key is stored with another payload; nothing was run or changed")


def _line(state: State, event: Event) -> Move:
    move = move_for(state, event)
    if move is None:
        raise UnsettledClaimError(f"no line of the table leads from {state} by {event}")
    return move
