"""A machine of callers, clocks and failures over the table on moto: whatever the order, the promises hold.

Where `test_interleavings` takes every order of a few callers, this takes long lives of one key with many of them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from boto3.dynamodb.types import TypeDeserializer
from botocore.exceptions import ClientError
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from functions.effects.states import MOVES, Move

from .actors import REQUEST, Call, Entry, Failed, Program, Told, advance, request_of
from .callers import KEY, ORDERS, REPLIES, RETENTION_DAYS, giver_up, operator, owner, sweeper
from .explored import explored
from .memory import Answer, Item, frozen, thawed
from .truth import Truth, Write, line_of
from .turns import CONDITIONAL, START, Standing

JUMPS = (1.0, 61.0, 66.0, 66.0, -1.0, -4.0)
"""Backward as well, as clocks of two machines differ: by less than the lease's 5 s of grace."""
ALIVE = 4
"""Callers at once; more only wait for each other."""
KINDS = ("owner", "owner", "owner", "another payload", "giver up", "sweeper", *ORDERS)
WHICH = st.integers(0, ALIVE - 1)
TURNS = st.sampled_from([0, 1, 2, 3, 4, 5, 20, 20])
LIKELY = st.sampled_from(["answered", "refused", "lost", "silent", "overloaded", "overloaded", "bug"])


@dataclass
class Caller:
    name: str
    program: Program
    standing: Standing = field(default_factory=Standing)

    @property
    def ended(self) -> bool:
        return isinstance(self.standing.at, Told)


class Life(RuleBasedStateMachine):
    """The life of one key. `table` is set by the test."""

    table: Any
    made: Counter[Move]

    @initialize(max_paid_attempts=st.sampled_from([1, 2]))
    def begins(self, max_paid_attempts: int) -> None:
        self.table.delete_item(Key={"id": KEY})
        self.now = self.latest = START
        self.truth = Truth(max_paid_attempts)
        self.callers: list[Caller] = []
        self.copies: list[tuple[Caller, Call]] = []
        self.item: Item = None

    # --- who comes, and what they do --------------------------------------------------------------------------------

    @rule(kind=st.sampled_from(KINDS), turns=TURNS, reply=LIKELY)
    def one_comes(self, kind: str, turns: int, reply: str) -> None:
        if len(self._alive()) < ALIVE:
            name = f"{kind} {len(self.callers)}"
            self.callers.append(Caller(name, self._program(kind, name)))
            self._goes_on(self.callers[-1], turns, reply)

    def _program(self, kind: str, name: str) -> Program:
        match kind:
            case "owner":
                return owner(name, self.truth.max_paid_attempts)
            case "another payload":
                return owner(name, self.truth.max_paid_attempts, kind)
            case "giver up":
                return giver_up()
            case "sweeper":
                return sweeper()
        return operator(kind, name)

    def _alive(self) -> list[Caller]:
        return [caller for caller in self.callers if not caller.ended]

    @precondition(lambda self: self._alive())
    @rule(which=WHICH, turns=TURNS, reply=LIKELY)
    def one_goes_on(self, which: int, turns: int, reply: str) -> None:
        self._goes_on(self._alive()[which % len(self._alive())], turns, reply)

    @precondition(lambda self: self._alive())
    @rule(which=WHICH, reply=st.sampled_from(REPLIES), fault=st.sampled_from(CONDITIONAL))
    def one_meets_a_failure(self, which: int, reply: str, fault: str) -> None:
        self._takes_a_turn(self._alive()[which % len(self._alive())], reply, fault)

    @precondition(lambda self: self._alive())
    @rule(which=WHICH)
    def one_is_killed(self, which: int) -> None:
        self.callers.remove(self._alive()[which % len(self._alive())])

    @precondition(lambda self: self.copies)
    @rule()
    def a_copy_of_a_write_arrives(self) -> None:
        self._send(*self.copies.pop())

    @rule(seconds=st.sampled_from(JUMPS))
    def the_clock_jumps(self, seconds: float) -> None:
        self.now += seconds
        self.latest = max(self.latest, self.now)

    @precondition(lambda self: self.item and "expiration" in thawed(self.item))
    @rule()
    def the_ttl_removes_the_record(self) -> None:
        self.now += RETENTION_DAYS * 86_400
        self.latest = max(self.latest, self.now)
        self.table.delete_item(Key={"id": KEY})
        self.item, self.truth = None, self.truth.expired()

    @invariant()
    def the_promises_hold(self) -> None:
        explored("steps of the effect store's state machine", 1)
        self.truth.holds_of(self.item)

    # --- how ------------------------------------------------------------------------------------------------------

    def _goes_on(self, caller: Caller, turns: int, reply: str) -> None:
        for _ in range(turns):
            if not caller.ended:
                self._takes_a_turn(caller, reply, "")

    def _takes_a_turn(self, caller: Caller, reply: str, fault: str) -> None:
        at = caller.standing.at
        if not isinstance(at, Call):
            history, at = advance(caller.program, caller.standing.history, self.now)
            caller.standing = Standing(history, at)
            if isinstance(at, Told):
                self.truth.may_be_told(at)
            return
        if at.operation == REQUEST:
            self.truth = self.truth.requested(caller.name, reply)
            entry: Entry = reply
        else:
            entry = self._performed(caller, at, fault if at.writes else "")
        caller.standing = Standing((*caller.standing.history, entry))

    def _performed(self, caller: Caller, call: Call, fault: str) -> Entry:
        if fault == "throttled":
            return Failed(throttled=True)
        answer = self._send(caller, call)
        match fault:
            case "lost":
                return Failed(throttled=False)
            case "repeated":
                return self._send(caller, call)
            case "copied":
                self.copies.append((caller, call))
        return answer

    def _send(self, caller: Caller, call: Call) -> Answer:
        before = self.item
        try:
            item = getattr(self.table.meta.client, call.operation)(**request_of(call)).get("Item")
            answer = Answer(item and frozen(item))
        except ClientError as error:
            # Nothing else refuses a request here, and a condition that does says what is stored.
            wire: Any = error.response.get("Item")
            read = TypeDeserializer().deserialize
            answer = Answer(wire and frozen({name: read(value) for name, value in wire.items()}), refused=True)
        if call.writes:
            stored = self.table.get_item(Key={"id": KEY}, ConsistentRead=True).get("Item")
            self.item = stored and frozen(stored)
        if self.item != before:
            write = Write(before, self.item, call.event, caller.name, self.latest)
            self.truth = self.truth.written(write)
            self.made.update(line_of(write))
        return answer


def test_whatever_happens_to_a_key_the_promises_hold(table: Any) -> None:
    made: Counter[Move] = Counter()
    life = type("LifeOnMoto", (Life,), {"table": table, "made": made})
    run_state_machine_as_test(life, settings=settings(stateful_step_count=60))  # type: ignore[no-untyped-call]
    # No walk in one corner. Where it goes changes with every module that is loaded (hypothesis takes its constants);
    # that every line is made is for `test_interleavings` to show.
    assert len(made) > len(MOVES) / 2
