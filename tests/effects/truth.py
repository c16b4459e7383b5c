"""What really happened to one key, kept beside the table, and what must be true of the record whatever happens.

Written from the promises (README) and the table of moves, not from the store: it judges every write by the item before
and after it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from functions.effects.record import EffectRecord
from functions.effects.states import MOVES, Event, Guard, Move, State

from .actors import Told
from .callers import BILLED, CANARY
from .memory import Item, frozen, thawed

LINES = {(move.start, move.event): move for move in MOVES}


@dataclass(frozen=True)
class Write:
    """A write that changed the item. `latest` is the latest time that any clock showed so far."""

    before: Item
    after: Item
    event: Event | None
    by: str
    latest: float


@dataclass(frozen=True)
class Truth:
    """Of the record that is kept now: the owners that claimed it, whose attempts were said to be in doubt, and whose
    requests the provider billed; what was proven of them, ordered, and ever stored as an end.

    `cleared`: all that had been tried when it was proven that nothing happened. `accused`: those of whom it was proven
    that one did not happen, and `absences`, how often.
    """

    max_paid_attempts: int
    claimed: frozenset[str] = frozenset()
    doubted: frozenset[str] = frozenset()
    billed: frozenset[str] = frozenset()
    cleared: frozenset[str] = frozenset()
    accused: frozenset[str] = frozenset()
    absences: int = 0
    orders: int = 0
    resolutions: int = 0
    ends: frozenset[Told] = field(default=frozenset())

    @property
    def wrong_proofs(self) -> int:
        """How many billed attempts were proven, at the time or too early, not to have happened."""
        return len(self.cleared & self.billed) + max(0, self.absences - len(self.accused - self.billed))

    def requested(self, owner: str, reply: str) -> Truth:
        """A request reached the provider. Of an owner of an earlier life of the record nothing is promised."""
        return replace(self, billed=self.billed | {owner}) if reply in BILLED and owner in self.claimed else self

    def expired(self) -> Truth:
        """The TTL removed the record: another life begins."""
        return Truth(self.max_paid_attempts, ends=self.ends)

    def written(self, write: Write) -> Truth:
        """Judge a write that changed the item, and remember it."""
        before, after = _record(write.before), _record(write.after)
        if write.event is None:
            _only_a_late_answer_was_counted(write)
            return self
        move = _line_of(write, before, after)
        assert after is not None
        truth = replace(
            self,
            orders=self.orders + (write.event is Event.ORDER_ATTEMPT),
            resolutions=self.resolutions + move.operator,
            ends=self.ends | ({_told(after)} if after.outcome else set()),
        )
        match write.event:
            case Event.CLAIM:
                return replace(truth, claimed=self.claimed | {after.owner})
            case Event.DOUBT | Event.EXPIRE:
                return replace(truth, doubted=self.doubted | {after.owner})
            case Event.PROVE_ABSENT:
                return replace(truth, cleared=self.claimed, accused=frozenset(), absences=0)
            case Event.PROVE_ONE_ABSENT:
                return replace(truth, accused=self.doubted - self.cleared, absences=self.absences + 1)
        return truth

    def holds_of(self, item: Item) -> None:
        """What is true of the record at every moment."""
        paid = len(self.billed)
        assert paid <= self.max_paid_attempts + self.orders + self.wrong_proofs, f"billed {paid} times: {self}"
        record = _record(item)
        if record is None:
            return
        in_flight = record.state is State.CLAIMED and record.owner in self.billed
        assert record.paid_attempts + in_flight >= paid - self.wrong_proofs, f"counted too few: {self}, {item}"
        assert record.paid_attempts <= len(self.claimed), f"counted more than was tried: {item}"
        assert (record.ordered_attempts, len(record.resolutions)) == (self.orders, self.resolutions), (
            "an order was lost"
        )
        assert (record.state is State.RELEASED) <= (record.paid_attempts == 0), f"released although paid: {item}"
        assert (record.state is State.UNKNOWN) <= (record.paid_attempts > 0), f"in doubt over nothing: {item}"
        assert (record.state in {State.CLAIMED}) == (record.outcome is None), f"an outcome with no end: {item}"
        assert ("expiration" in thawed(item or "")) <= (record.state is State.DONE), f"what is open expires: {item}"
        assert CANARY not in (item or ""), "personal data in the record"

    def may_be_told(self, told: Told) -> None:
        """Nobody is told an outcome that was not stored as it is told."""
        assert told.outcome is None or told in self.ends, f"told {told}, stored were {self.ends}"


def line_of(write: Write) -> list[Move]:
    """The line of the table that a write makes; none for a late answer that was counted."""
    start = State(thawed(write.before)["state"]) if write.before else State.ABSENT
    return [LINES[start, write.event]] if write.event and (start, write.event) in LINES else []


def _record(item: Item) -> EffectRecord | None:
    return EffectRecord.from_item(thawed(item)) if item else None


def _told(record: EffectRecord) -> Told:
    return Told(record.state, record.outcome and frozen(record.outcome.model_dump(mode="json")))


def _only_a_late_answer_was_counted(write: Write) -> None:
    assert write.before is not None, "a late answer brought an item into being"
    assert write.after is not None
    before, after = dict(thawed(write.before)), dict(thawed(write.after))
    assert after.pop("late_answers") == before.pop("late_answers") + 1
    assert after == before, "counting a late answer changed the record"


HOLDS: dict[Guard, Callable[[EffectRecord, Write], bool]] = {
    Guard.OWNER: lambda record, write: record.owner == write.by,
    Guard.LEASE_OVER: lambda record, write: record.lease_until < write.latest,
    Guard.NOTHING_PAID: lambda record, write: record.paid_attempts == 0,
    Guard.SOMETHING_PAID: lambda record, write: record.paid_attempts > 0,
    Guard.ONE_PAID: lambda record, write: record.paid_attempts == 1,
    Guard.SEVERAL_PAID: lambda record, write: record.paid_attempts > 1,
    Guard.UNBILLED_FAILURE: lambda record, write: bool(
        record.outcome and record.outcome.kind == "failed" and not record.outcome.paid
    ),
}
"""Said again, in Python. The others compare with what the writer saw; what they are for is judged by `holds_of`."""


def _line_of(write: Write, before: EffectRecord | None, after: EffectRecord | None) -> Move:
    assert write.event is not None
    start = before.state if before else State.ABSENT
    assert line_of(write), f"no line leads from {start} by {write.event}"
    (move,) = line_of(write)
    assert after is not None, "a write removed the item"
    assert after.state is move.end, f"{write.event} led from {start} to {after.state}"
    claims = write.event is Event.CLAIM
    assert after.attempt == (before.attempt if before else 0) + claims, f"attempt {after.attempt} after {write.event}"
    if before is None:
        return move
    broken = [guard for guard in move.guards if guard in HOLDS and not HOLDS[guard](before, write)]
    assert not broken, f"{write.event} was written although not: {broken}"
    added = after.paid_attempts - before.paid_attempts
    assert added == _to_be_added(move, before, after), f"{write.event} counted {added}"
    assert after.resolutions[: len(before.resolutions)] == before.resolutions, "a resolution was overwritten"
    assert len(after.resolutions) == len(before.resolutions) + move.operator, "actor and reason are not kept"
    assert not move.operator or after.resolutions[-1].actor == write.by
    assert (after.payload_hash, after.id) == (before.payload_hash, before.id)
    assert claims or after.owner == before.owner, "somebody else became the owner without a claim"
    assert not claims or after.owner == write.by
    return move


def _to_be_added(move: Move, before: EffectRecord, after: EffectRecord) -> int:
    if move.paid is not None:
        return move.paid
    assert after.outcome is not None
    counted = before.state is State.UNKNOWN
    # A proof may have taken this attempt's count away already; it is not taken away twice.
    proven = any(each.event == Event.PROVE_ONE_ABSENT for each in before.resolutions)
    return max(int(after.outcome.paid) - counted, 0 if proven else -1)


def refused_guards(item: Item, broken: list[str], move: Move) -> set[Guard]:
    """The guards of the move that refused a write which the fence would have let through."""
    fence = {"#state = :seen_state", "#attempt = :seen_attempt", "attribute_not_exists(id)"}
    if item is None or fence & set(broken):
        return set()
    return {next(guard for guard in sorted(move.guards) if PARTS[guard] in part) for part in broken}


PARTS: dict[Guard, str] = {
    Guard.OWNER: "#owner =",
    Guard.LEASE_OVER: "#lease_until_ms <",
    Guard.ATTEMPT_LEFT: "#paid_attempts = :seen_paid",
    Guard.RESOLUTIONS_AS_SEEN: "size(#resolutions)",
    Guard.NOTHING_PAID: "#paid_attempts = :paid_number",
    Guard.SOMETHING_PAID: "#paid_attempts > :paid_number",
    Guard.ONE_PAID: "#paid_attempts = :paid_number",
    Guard.SEVERAL_PAID: "#paid_attempts > :paid_number",
    Guard.UNBILLED_FAILURE: "#outcome.",
}
