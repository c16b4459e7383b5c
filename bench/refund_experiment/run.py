"""One tool on its ground: every injection that was asked for, at once, and the cells that come of it."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bench.refund_experiment.calling import Callers
from bench.refund_experiment.cell import Cell
from bench.refund_experiment.injections import Injection, Plan, article_plan, random_plan
from bench.refund_experiment.our_ledger import OurLedger
from bench.refund_experiment.requests import Asked, asked_of, bring, disarm
from bench.refund_experiment.template import queues_of
from bench.refund_experiment.timers import Timers
from bench.refund_experiment.variants import Variant, points_of
from bench.refund_experiment.watching import Calls, ExperimentError, Watch, scanned
from cli.cloud import Cloud

NAIVE_RUNS = 3
"""Of each injection: the naive variants always fail at the same moment, so a few tell what more would."""
WAVE = 20
"""Of one injection on their way at a time: an account runs so many functions at once, and refuses what is more."""
Refunds = Callable[[], Mapping[str, int]]
"""Refunds at the provider by request_id."""


@dataclass(frozen=True)
class Ground:
    """Where a tool is deployed. `at_stripe`: what its provider made; None where there is no stand-in."""

    cloud: Cloud
    timers: Timers
    at_once: int
    at_stripe: Refunds | None


@dataclass(frozen=True)
class Ended:
    """A run whose calls are over."""

    injection: Injection
    variant: Variant
    actions: Sequence[Asked]
    seconds: float


class Experiment:
    """`runs`: of each injection with ours; `seed` decides their random moments."""

    def __init__(self, ground: Ground, *, runs: int, seed: int) -> None:
        self._ground = ground
        self._cloud = ground.cloud
        self._runs = runs
        self._seed = seed
        self._watch = Watch(ground.cloud, ground.timers)
        self._callers = Callers(ground.cloud, ground.timers, ground.at_once)

    def cells(self, variants: Sequence[Variant], injections: Sequence[Injection]) -> Iterator[Cell]:
        """Variants of one tool and one provider are one run. Raises ExperimentError."""
        runs = {
            (variant.provider, injection): (variant, injection)
            for variant in variants
            for injection in injections
            if not injection.is_batch or injection.way in queues_of(variant.tool)
        }
        with ThreadPoolExecutor(max(1, len(runs))) as pool:
            # All of them before anything is counted: a pass of the reconciler runs whatever nobody has begun.
            ended = list(pool.map(lambda run: self._drive(*run), runs.values()))
        for done in ended:
            same = [each for each in variants if each.provider == done.variant.provider]
            # Those that count before the key is used again come first.
            for variant in sorted(same, key=lambda each: each.reuses):
                yield self._cell(done, variant)

    def _drive(self, variant: Variant, injection: Injection) -> Ended:
        began, actions = time.monotonic(), list[Asked]()
        plans = list(self._plans(variant, injection))
        for at in range(0, len(plans), WAVE):
            wave = asked_of(injection, plans[at : at + WAVE])
            bring(self._cloud, variant, injection, wave, self._ground.timers.pause_s)
            expected = self._callers.call(injection.way, wave)
            self._watch.settled(injection, wave, expected)
            actions += wave
        return Ended(injection, variant, actions, time.monotonic() - began)

    def _plans(self, variant: Variant, injection: Injection) -> Iterator[Plan]:
        points = points_of(variant)
        if not variant.tool.is_ours:
            yield from [article_plan(injection, points)] * NAIVE_RUNS
            return
        chance = random.Random(f"{self._seed} {variant.name} {injection.name}")
        # The article's own moment first, then any.
        yield article_plan(injection, points)
        yield from (random_plan(injection, points, chance) for _ in range(self._runs - 1))

    def _cell(self, ended: Ended, variant: Variant) -> Cell:
        failing = [asked for asked in ended.actions if asked.plan is not None]
        calls = {asked.request_id: self._watch.calls(asked.request_id) for asked in failing}
        self._refuse_uninjected(ended, failing, calls)
        amiss: tuple[str, ...] = ()
        if variant.tool.is_ours:
            amiss = OurLedger(self._cloud, self._watch).settle(ended.actions)
        reused = Counter[str]()
        if variant.reuses:
            # Of a few: what a changed amount ends in does not depend on the moment of the failure.
            reused.update(self._with_another_amount(ended.injection, asked) for asked in failing[:NAIVE_RUNS])
        rows = self._side_effects(variant)
        return Cell(
            injection=ended.injection,
            variant=variant,
            rows={asked.request_id: rows[asked.request_id] for asked in failing},
            others={asked.request_id: rows[asked.request_id] for asked in ended.actions if asked.plan is None},
            calls=Counter(calls[asked.request_id].arrivals for asked in failing),
            reused=reused,
            amiss=amiss,
            seconds=ended.seconds,
        )

    def _refuse_uninjected(self, ended: Ended, failing: Sequence[Asked], calls: Mapping[str, Calls]) -> None:
        """A fault that never came was not survived."""
        never = sum(calls[asked.request_id].hits == 0 for asked in failing)
        if never:
            where = f"{ended.injection.name}, variant {ended.variant.name}"
            raise ExperimentError(f"{where}: {never} of {len(failing)} faults were never injected")

    def _with_another_amount(self, injection: Injection, asked: Asked) -> str:
        """The error that it ends in; empty: it was taken."""
        disarm(self._cloud, asked)
        self._callers.once(injection.way, {**asked.event, "amount_minor": asked.request.amount_minor + 1})
        return ", ".join(sorted(self._watch.calls(asked.request_id).errors))

    def _side_effects(self, variant: Variant) -> Counter[str]:
        if not variant.tool.is_ours:
            return Counter(item["request_id"] for item in scanned(self._cloud, "RowsTable"))
        if variant.provider == "stripe":
            if self._ground.at_stripe is None:
                raise ExperimentError("no stand-in of Stripe runs here, so nobody counts its refunds")
            return Counter(self._ground.at_stripe())
        return OurLedger(self._cloud, self._watch).refund_rows()
