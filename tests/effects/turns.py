"""Every order in which callers, clocks and failures of the table may take turns, explored without repeating a state.

A state is everything that decides what comes next: the item, the time, where each caller stands, what may still go
wrong. From each every possible turn is taken once, and judged by `truth`. Two orders that lead to one state are
explored from there together but counted apart, so `schedules` is the number of orders that were judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from functions.effects.states import Guard, Move, State

from .actors import REQUEST, Call, Entry, Failed, Program, Told, advance, request_of
from .callers import OPERATORS
from .memory import Answer, Item, broken_parts, execute, thawed
from .truth import LINES, Truth, Write, line_of, refused_guards

START = 1_800_000_000.0
CONDITIONAL = ("lost", "repeated", "throttled", "copied")
"""What may go wrong with a write: applied, but the answer is lost and boto3 gives up; applied, and boto3 sends it
again; not applied; applied, and a copy of it comes through the network once more, at any later time.
"""


@dataclass(frozen=True)
class Family:
    """Who takes turns, and what may happen to them: callers by name, the provider's replies, the jumps of the clock in
    seconds, in their order, how many writes go wrong and how, and whether the TTL removes what may be removed.
    """

    name: str
    callers: tuple[tuple[str, Program], ...]
    replies: tuple[str, ...] = ("answered",)
    max_paid_attempts: int = 1
    jumps: tuple[float, ...] = ()
    faults: int = 0
    kinds: tuple[str, ...] = CONDITIONAL
    ttl: bool = False


@dataclass(frozen=True)
class Standing:
    """Where a caller stands: before a call, at its end, or (None) to be run on from its history."""

    history: tuple[Entry, ...] = ()
    at: Call | Told | None = None


@dataclass(frozen=True)
class World:
    """One state."""

    item: Item
    now: float
    latest: float
    truth: Truth
    standings: tuple[Standing, ...]
    jumps: tuple[float, ...]
    faults: int
    copies: tuple[tuple[int, Call], ...] = ()

    def with_standing(self, index: int, standing: Standing) -> World:
        return replace(self, standings=(*self.standings[:index], standing, *self.standings[index + 1 :]))


@dataclass
class Found:
    """What an exploration went through."""

    schedules: int = 0
    states: int = 0
    moves: Counter[Move] = field(default_factory=Counter)
    refusals: set[Guard] = field(default_factory=set)


class Exploration:
    """All schedules of one family. `most` states bound it; reaching them is an error, never a silent end."""

    def __init__(self, family: Family, most: int = 1_000_000) -> None:
        self._family = family
        self._most = most
        self._schedules: dict[Any, int] = {}
        self._ids: dict[Any, int] = {}
        self.found = Found()

    def run(self) -> Found:
        family = self._family
        start = World(
            item=None,
            now=START,
            latest=START,
            truth=Truth(family.max_paid_attempts),
            standings=(Standing(),) * len(family.callers),
            jumps=family.jumps,
            faults=family.faults,
        )
        self.found.schedules = self._from(self._settled(start))
        self.found.states = len(self._schedules)
        advance.cache_clear()
        _executed.cache_clear()
        return self.found

    def _from(self, world: World) -> int:
        """The number of schedules from here; each state is gone on from once."""
        key = self._key(world)
        if key not in self._schedules:
            assert len(self._schedules) < self._most, f"{self._family.name} has more than {self._most} states"
            world.truth.holds_of(world.item)
            self._schedules[key] = 0
            ways = [self._from(self._settled(after)) for after in self._turns(world)]
            self._schedules[key] = sum(ways) or 1
        return self._schedules[key]

    def _key(self, world: World) -> Any:
        ids = self._ids
        parts = (world.item, world.truth, *world.standings, world.copies)
        return (world.now, world.jumps, world.faults, *(ids.setdefault(part, len(ids)) for part in parts))

    def _settled(self, world: World) -> World:
        """It makes no difference when a caller runs on to its next call, unless it looks at a clock that may jump."""
        for index, standing in enumerate(world.standings):
            if standing.at is None:
                resumed = self._resumed(world, index)
                if not world.jumps or len(resumed.standings[index].history) == len(standing.history):
                    world = resumed
        return world

    def _turns(self, world: World) -> Iterator[World]:
        for index, standing in enumerate(world.standings):
            if standing.at is None:
                yield self._resumed(world, index)
            elif isinstance(standing.at, Call):
                yield from self._performed(world, index, standing.at)
        if world.jumps:
            now = world.now + world.jumps[0]
            yield replace(world, now=now, latest=max(now, world.latest), jumps=world.jumps[1:])
        for number, (index, call) in enumerate(world.copies):
            left = world.copies[:number] + world.copies[number + 1 :]
            yield self._sent(replace(world, copies=left), index, call)[0]
        if self._family.ttl and _may_be_removed(world):
            yield replace(world, item=None, truth=world.truth.expired())

    def _resumed(self, world: World, index: int) -> World:
        history, at = advance(self._family.callers[index][1], world.standings[index].history, world.now)
        if isinstance(at, Told):
            world.truth.may_be_told(at)
            if self._family.callers[index][0] in OPERATORS and not self._family.ttl:
                self._operator_knows(index, world, at)
        return world.with_standing(index, Standing(history, at))

    def _operator_knows(self, index: int, world: World, told: Told) -> None:
        actors = [each["actor"] for each in thawed(world.item)["resolutions"]] if world.item else []
        if told.error in {"", "MoveRefusedError"}:
            assert (self._family.callers[index][0] in actors) is (not told.error), f"told {told}, done by {actors}"

    def _performed(self, world: World, index: int, call: Call) -> Iterator[World]:
        if call.operation == REQUEST:
            name = self._family.callers[index][0]
            for reply in self._family.replies:
                after = replace(world, truth=world.truth.requested(name, reply))
                yield _answered(after, index, reply)
            return
        after, answer = self._sent(world, index, call)
        yield _answered(after, index, answer)
        if not world.faults:
            return
        world, after = (replace(each, faults=world.faults - 1) for each in (world, after))
        kinds = self._family.kinds if call.writes else ("throttled",)
        if "throttled" in kinds:
            yield _answered(world, index, Failed(throttled=True))
        if "lost" in kinds:
            yield _answered(after, index, Failed(throttled=False))
        if "repeated" in kinds:
            yield _answered(*_swapped(self._sent(after, index, call), index))
        if "copied" in kinds:
            yield _answered(replace(after, copies=(*after.copies, (index, call))), index, answer)

    def _sent(self, world: World, index: int, call: Call) -> tuple[World, Answer]:
        item, answer = _executed(world.item, call)
        if answer.refused and call.event:
            self._note_refusal(world.item, call)
        if item == world.item:
            return world, answer
        write = Write(world.item, item, call.event, self._family.callers[index][0], world.latest)
        truth = world.truth.written(write)
        self.found.moves.update(line_of(write))
        return replace(world, item=item, truth=truth), answer

    def _note_refusal(self, item: Item, call: Call) -> None:
        assert call.event is not None
        request = request_of(call)
        seen = request.get("ExpressionAttributeValues", {}).get(":seen_state", State.ABSENT)
        move = LINES[State(seen), call.event]
        self.found.refusals |= refused_guards(item, broken_parts(item, request), move)


def _answered(world: World, index: int, entry: Entry) -> World:
    history = world.standings[index].history
    return world.with_standing(index, Standing((*history, entry)))


def _swapped(sent: tuple[World, Answer], index: int) -> tuple[World, int, Answer]:
    return sent[0], index, sent[1]


def _may_be_removed(world: World) -> bool:
    return world.item is not None and thawed(world.item).get("expiration", world.now) < world.now


@cache
def _executed(item: Item, call: Call) -> tuple[Item, Answer]:
    return execute(item, call.operation, request_of(call))
