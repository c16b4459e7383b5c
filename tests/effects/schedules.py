"""Every schedule of a scenario: at each crash point, a kill, a duplicate beside it, both, and a late owner.

A run without disturbance is made first; it gives the arrivals at crash points, and a copy of the world before each
delivery. A schedule begins at such a copy, disturbs one delivery, and lets everything else happen. Where a disturbed
delivery leaves a world that was gone on from before, the rest would be the same again and is not repeated.
"""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from functions.crash_points import Killed, armed
from tests.effects.invariants import Allowed, Before, check, check_nothing_was_overwritten, person_of
from tests.effects.scenarios import Scenario
from tests.effects.service import Delivery

_RANDOM = re.compile(r"evt_[0-9A-Z]{26}|\b[0-9a-f]{32}\b|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z")
"""Owners and ids of events, which no two runs share."""


class Mode(StrEnum):
    """What happens at a crash point."""

    KILLED = "killed"
    DUPLICATE = "a duplicate beside it"
    DUPLICATE_THEN_KILLED = "a duplicate beside it, then killed"
    LATE = "late"


@dataclass(frozen=True)
class Arrival:
    """The nth time that a point is reached in the undisturbed run, and the nth in which of its deliveries."""

    point: str
    nth: int
    delivery: int
    nth_there: int


@dataclass
class _Start:
    state: Any
    delivery: Delivery


class Explorer:
    """One scenario. `followed` counts the worlds that were gone on from to their end."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._world = scenario.build()
        self._starts: list[_Start] = []
        self._seen: set[str] = set()
        self.arrivals = self._undisturbed()
        self.followed = 0

    def _undisturbed(self) -> list[Arrival]:
        arrivals: list[Arrival] = []
        over_all: Counter[str] = Counter()

        def invoke(delivery: Delivery) -> None:
            number, there = len(self._starts), Counter[str]()
            self._starts.append(_Start(self._world.state(), copy.copy(delivery)))

            def hook(point: str) -> None:
                over_all[point] += 1
                there[point] += 1
                arrivals.append(Arrival(point, over_all[point], number, there[point]))

            with armed(hook):
                self._world.handle(delivery)

        self._world.invoke = invoke
        self._world.run()
        check(self._world, self._scenario.ends, Allowed())
        return arrivals

    def chosen(self, *, every: bool = False) -> list[Arrival]:
        """The first and the last arrival at each point, or every one."""
        last = Counter(arrival.point for arrival in self.arrivals)
        return [each for each in self.arrivals if every or each.nth in (1, last[each.point])]

    def run_all(self, arrivals: Iterable[Arrival], mode: Mode) -> None:
        """A schedule for each arrival. Raises AssertionError with all that break a promise, each with its place."""
        broken = []
        for arrival in arrivals:
            try:
                self.run(arrival, mode)
            except AssertionError as error:
                broken.append(f"{arrival} {mode}: {error}")
        assert broken == []

    def run(self, arrival: Arrival, mode: Mode) -> None:
        """One schedule. Raises AssertionError where it breaks a promise."""
        start, world = self._starts[arrival.delivery], self._world
        world.go_back(start.state)
        delivery = copy.deepcopy(start.delivery) if start.delivery.function != "operator" else start.delivery
        before = [Before.of(world)]
        hook = _At(arrival, lambda: self._disturb(delivery, mode, before))

        def invoke(disturbed: Delivery) -> None:
            world.invoke = world.handle
            with armed(hook):
                world.handle(disturbed)

        world.invoke = invoke
        world.deliver(delivery)
        # What came beside it ended before it did.
        world.between.idle_ticks = 0
        assert hook.fired, "the delivery did not come by the point again"
        check_nothing_was_overwritten(before, world)
        allowed = Allowed(person_of(delivery), _tells_again(delivery, arrival.point, mode))
        if self._is_new(allowed):
            before.append(Before.of(world))
            world.run()
            check_nothing_was_overwritten(before, world)
            check(world, self._scenario.ends, allowed)
            self.followed += 1

    def _disturb(self, delivery: Delivery, mode: Mode, before: list[Before]) -> None:
        world = self._world
        if mode in (Mode.DUPLICATE, Mode.DUPLICATE_THEN_KILLED):
            world.handle(copy.copy(delivery))
        elif mode is Mode.LATE:
            world.take_for_dead(delivery)
        before.append(Before.of(world))
        if mode in (Mode.KILLED, Mode.DUPLICATE_THEN_KILLED):
            raise Killed

    def _is_new(self, allowed: Allowed) -> bool:
        found = [self._world.account.items(), self._world.account.objects(), self._world.between, allowed]
        told = json.dumps(found, default=_plain, sort_keys=True)
        fingerprint = _RANDOM.sub("", told)
        if fingerprint in self._seen:
            return False
        self._seen.add(fingerprint)
        return True


def _tells_again(delivery: Delivery, point: str, mode: Mode) -> bool:
    """Where a notice may come twice, and not only never: a refusal is told before it is settled, an upload's end or
    stand before its outbox is emptied, and two are at it where one was taken for dead."""
    if delivery.function == "intake":
        return True
    return mode is Mode.LATE or (
        mode is not Mode.DUPLICATE and point in ("finish.notify.after", "uploads.announced.before")
    )


class _At:
    """A hook that acts at one arrival, and then no more."""

    def __init__(self, arrival: Arrival, act: Callable[[], None]) -> None:
        self._point = arrival.point
        self._left = arrival.nth_there
        self._act = act
        self.fired = False

    def __call__(self, point: str) -> None:
        if self.fired or point != self._point:
            return
        self._left -= 1
        if not self._left:
            self.fired = True
            self._act()


def _plain(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value)
    return vars(value) if hasattr(value, "__dict__") else repr(value)
