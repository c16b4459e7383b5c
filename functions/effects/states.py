"""The states of a claim and every move between them, as data. The store does nothing that is not a line here.

No line leads out of DONE but an operator's rerun of an unbilled failure, and no line into CLAIMED starts from a
CLAIMED record of somebody else: together with the conditions, that is "at most one attempt at a time, one outcome".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Where the effect of one key stands. ABSENT is never stored: there is no item."""

    ABSENT = "ABSENT"
    CLAIMED = "CLAIMED"
    RELEASED = "RELEASED"
    UNKNOWN = "UNKNOWN"
    DONE = "DONE"


class Event(StrEnum):
    """What may happen to a record."""

    CLAIM = "claim"
    FINISH = "finish"
    RELEASE = "release"
    RELEASE_IN_DOUBT = "release, an earlier attempt in doubt"
    DOUBT = "doubt"
    EXPIRE = "expire"
    GIVE_UP = "give up"
    ORDER_ATTEMPT = "order another attempt"
    PROVE_HAPPENED = "prove that it happened"
    PROVE_ABSENT = "prove that it did not happen"
    PROVE_ONE_ABSENT = "prove that one of several attempts did not happen"
    RERUN = "rerun"


class Guard(StrEnum):
    """What must hold in the same write. State and attempt are compared by every write to an existing record."""

    OWNER = "owner equal"
    LEASE_OVER = "lease expired"
    ATTEMPT_LEFT = "paid attempts < allowed attempts"
    RESOLUTIONS_AS_SEEN = "no operator or proof changed it meanwhile"
    UNBILLED_FAILURE = "failed and unbilled"
    NOTHING_PAID = "no earlier attempt may have been billed"
    SOMETHING_PAID = "an earlier attempt may have been billed"
    ONE_PAID = "one attempt may have been billed"
    SEVERAL_PAID = "several attempts may have been billed"


@dataclass(frozen=True)
class Move:
    """One line of the table. `paid` is what the move adds to the paid attempts; None: what the outcome says.

    `operator`: needs an actor and a reason, which are kept in the record.
    """

    start: State
    event: Event
    end: State
    guards: frozenset[Guard] = frozenset()
    paid: int | None = 0
    operator: bool = False


_MINE = frozenset({Guard.OWNER})
# What operators and proofs do leaves state and attempt as they were: the second of two who looked at the same doubt is
# told of the first's decision, and none is written over.
_AS_SEEN = frozenset({Guard.RESOLUTIONS_AS_SEEN})

MOVES: tuple[Move, ...] = (
    Move(State.ABSENT, Event.CLAIM, State.CLAIMED),
    Move(State.RELEASED, Event.CLAIM, State.CLAIMED),
    Move(State.UNKNOWN, Event.CLAIM, State.CLAIMED, frozenset({Guard.ATTEMPT_LEFT})),
    Move(State.CLAIMED, Event.FINISH, State.DONE, _MINE, paid=None),
    # RELEASED says that nothing was billed, ever: it may be given up as unbilled. An attempt that was certainly not
    # billed takes no doubt away from one before it.
    Move(State.CLAIMED, Event.RELEASE, State.RELEASED, _MINE | {Guard.NOTHING_PAID}),
    Move(State.CLAIMED, Event.RELEASE_IN_DOUBT, State.UNKNOWN, _MINE | {Guard.SOMETHING_PAID}),
    Move(State.CLAIMED, Event.DOUBT, State.UNKNOWN, _MINE, paid=1),
    Move(State.CLAIMED, Event.EXPIRE, State.UNKNOWN, frozenset({Guard.LEASE_OVER}), paid=1),
    # The late owner: nobody claimed since (the attempt is still its own), so its answer is the proof that was missing.
    Move(State.RELEASED, Event.FINISH, State.DONE, _MINE, paid=None),
    Move(State.UNKNOWN, Event.FINISH, State.DONE, _MINE | _AS_SEEN, paid=None),
    Move(State.ABSENT, Event.GIVE_UP, State.DONE),
    Move(State.RELEASED, Event.GIVE_UP, State.DONE, frozenset({Guard.NOTHING_PAID})),
    Move(State.UNKNOWN, Event.ORDER_ATTEMPT, State.UNKNOWN, _AS_SEEN, operator=True),
    Move(State.UNKNOWN, Event.PROVE_HAPPENED, State.DONE, _AS_SEEN, operator=True),
    Move(State.UNKNOWN, Event.PROVE_ABSENT, State.RELEASED, _AS_SEEN | {Guard.ONE_PAID}, paid=-1, operator=True),
    Move(State.UNKNOWN, Event.PROVE_ONE_ABSENT, State.UNKNOWN, _AS_SEEN | {Guard.SEVERAL_PAID}, paid=-1, operator=True),
    Move(
        State.DONE,
        Event.RERUN,
        State.RELEASED,
        _AS_SEEN | {Guard.UNBILLED_FAILURE, Guard.NOTHING_PAID},
        operator=True,
    ),
)

_BY_START_AND_EVENT = {(move.start, move.event): move for move in MOVES}


def move_for(start: State, event: Event) -> Move | None:
    """The line for this event in this state, or None: the record stays as it is."""
    return _BY_START_AND_EVENT.get((start, event))


def paid_by(move: Move, outcome_paid: bool, *, one_proven_absent: bool = False) -> int:
    """What the move adds to the paid attempts. UNKNOWN counted its attempt already, so an answer only corrects it.

    `one_proven_absent`: a proof took one of several attempts away without saying which. It may have been this one, so
    a late answer that was not billed takes away no other.
    """
    if move.paid is not None:
        return move.paid
    if move.start is State.UNKNOWN:
        return 0 if outcome_paid or one_proven_absent else -1
    return int(outcome_paid)


class Reply(StrEnum):
    """What a claim call that met a record is told."""

    MINE = "mine"
    REPLAY = "replay"
    IN_PROGRESS = "in progress"
    EXPIRE = "expire it first"
    CLAIM = "claim it"


def reply_to_claim(state: State, *, own: bool, lease_over: bool, attempt_left: bool) -> Reply:
    """How the table answers a claim call on an existing record.

    `own`: the record carries this call's owner, so this very write was applied and its response lost.
    """
    if state is State.DONE:
        return Reply.REPLAY
    if state is State.CLAIMED:
        if own:
            return Reply.MINE
        return Reply.EXPIRE if lease_over else Reply.IN_PROGRESS
    if state is State.UNKNOWN and not attempt_left:
        return Reply.REPLAY
    return Reply.CLAIM
