"""One guarded function whose effect the test supplies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_lambda_powertools.utilities.idempotency import IdempotencyConfig, idempotent_function
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyAlreadyInProgressError,
)

from functions.crash_points import Killed, armed, kill_at
from functions.effects.outcomes import Outcome
from functions.effects.resolve import Resolver
from functions.effects.run import Run, current_run, new_run
from functions.effects.store import (
    EffectStore,
)
from functions.effects.table import EffectTable

from .conftest import MovableClock

HOT = Outcome.succeeded({"label": "hot"}, request_id="req_1")
COLD = Outcome.succeeded({"label": "cold"}, request_id="req_2")
ITEM = {"id": "t:k", "hash": "h"}
Effect = Callable[[], Outcome]


class _Context:
    def get_remaining_time_in_millis(self) -> int:
        return 60_000


class Bench:
    """One guarded function whose effect the test supplies, and the number of requests it made."""

    def __init__(self, table: Any, clock: MovableClock, max_paid_attempts: int = 1) -> None:
        self.clock = clock
        self.requests = 0
        self.effect: Effect = lambda: HOT
        self.store = EffectStore(
            table,
            max_paid_attempts=max_paid_attempts,
            retention_days=400,
            id_of=lambda item: item["id"],
            payload_hash_of=lambda item: item["hash"],
            clock=clock,
        )
        self.resolver = Resolver(EffectTable(table), retention_days=400, clock=clock)
        config = IdempotencyConfig()
        config.register_lambda_context(_Context())  # type: ignore[arg-type]

        @idempotent_function(data_keyword_argument="item", config=config, persistence_store=self.store)
        def guarded(*, item: dict[str, str]) -> dict[str, Any]:
            current_run().mark_sent()
            self.requests += 1
            return self.effect().model_dump()

        self.guarded = guarded

    def call(self, effect: Effect | None = None, item: dict[str, str] | None = None, origin: str = "o") -> Run:
        self.effect = effect or self.effect
        with new_run(deadline=self.clock() + 60, origin=origin) as run:
            self.guarded(item=item or ITEM)
        return run

    def in_progress(self) -> Run:
        with new_run(deadline=self.clock() + 60) as run, pytest.raises(IdempotencyAlreadyInProgressError):
            self.guarded(item=ITEM)
        return run

    def die_at(self, point: str) -> None:
        with armed(kill_at(point)), pytest.raises(Killed):
            self.call()

    def read(self) -> Any:
        return self.store.read("t:k")
