"""What one row costs on the way through the real workers: writes, requests, CPU of the effect layer."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from statistics import mean, median
from typing import Any, cast
from unittest.mock import patch

from moto.core.botocore_stubber import BotocoreStubber

from bench.account import INVOCATION_S, account, create_table
from bench.leads import leads
from bench.model import Model

_BATCH = 10
_ROUNDS = 7
_CALLS = 60


def counted(rows: str) -> Any:
    """A file through intake and classify, then the same file again: what was called, and how often."""

    def run() -> Mapping[str, Any]:
        content, model = "".join(leads(int(rows))).encode(), Model()
        with account() as aws:
            published = aws.upload(content)
            intake = dict(aws.calls)
            worker = aws.worker(model.ask)
            aws.calls.clear()
            bodies = list(aws.bus.events.values())
            for first in range(0, len(bodies), _BATCH):
                worker.handle(aws.messages(bodies[first : first + _BATCH]), time.time() + INVOCATION_S)
            classify, writes, requests = dict(aws.calls), aws.writes, model.asked
            again = aws.upload(content)
            return {
                "rows": int(rows),
                "published": published,
                "put_events": aws.bus.calls,
                "event_bytes": aws.bus.bytes,
                "intake": intake,
                "classify": classify,
                "writes": writes,
                "requests": requests,
                "again": again + model.asked - requests,
                "row_bytes": mean(map(item_bytes, _rows(aws.prospects))),
                "effect_bytes": mean(map(item_bytes, aws.effects.scan()["Items"])),
                "effect_units": mean(math.ceil(item_bytes(each) / 1024) for each in aws.effects.scan()["Items"]),
                "prompt_bytes": model.prompt_bytes / requests,
                "answer_bytes": model.answer_bytes / requests,
            }

    return run


def item_bytes(value: Any) -> int:
    """The size DynamoDB bills, by its guide: UTF-8 of names and texts, numbers by their digits, 3 bytes a nesting."""
    match value:
        case dict():
            return 3 + sum(len(name.encode()) + 1 + item_bytes(each) for name, each in value.items())
        case list():
            return 3 + sum(1 + item_bytes(each) for each in value)
        case str():
            return len(value.encode())
        case bool() | None:
            return 1
        case _:
            return len(str(value)) // 2 + 2


def _rows(table: Any) -> list[Any]:
    return [item for item in table.scan()["Items"] if item["sk"].isdigit() and "#" in item["pk"]]


def effect_layer(_: str) -> Any:
    """CPU of a guarded call that does nothing, on moto: ours and stock Powertools, in turns, in microseconds a call.

    `…_alone` is without what the emulator itself spends: it parses expressions in Python, as no DynamoDB does.
    """

    def run() -> Mapping[str, Any]:
        with account() as aws:
            ours, stock = _ours(aws.effects), _stock(create_table(aws.dynamodb, "stock", "id").name)
            spent: dict[str, list[float]] = defaultdict(list)
            with emulator_time() as inside:
                for round_number in range(_ROUNDS + 1):
                    for name, call in (("ours", ours), ("stock", stock)):
                        inside[0], begun = 0.0, time.process_time()
                        for number in range(_CALLS):
                            call(f"{round_number}-{number}")
                        whole = time.process_time() - begun
                        # The first round makes connections and caches.
                        if round_number:
                            spent[name].append(whole / _CALLS * 1e6)
                            spent[f"{name}_alone"].append((whole - inside[0]) / _CALLS * 1e6)
            return {name: median(values) for name, values in spent.items()}

    return run


@contextmanager
def emulator_time() -> Iterator[list[float]]:
    """While open, the CPU seconds spent inside moto are added to the one number of the list."""
    inside, answer = [0.0], BotocoreStubber.__call__

    def timed(*arguments: Any, **named: Any) -> Any:
        begun = time.process_time()
        try:
            return answer(*arguments, **named)
        finally:
            inside[0] += time.process_time() - begun

    with patch.object(BotocoreStubber, "__call__", timed):
        yield inside


def _ours(table: Any) -> Callable[[str], object]:
    from aws_lambda_powertools.utilities.idempotency import (  # noqa: PLC0415 - only this child needs it
        IdempotencyConfig,
        idempotent_function,
    )

    from functions.effects.outcomes import Outcome  # noqa: PLC0415
    from functions.effects.run import new_run  # noqa: PLC0415
    from functions.effects.store import EffectStore  # noqa: PLC0415

    store = EffectStore(
        table,
        max_paid_attempts=1,
        retention_days=400,
        lease_grace_s=5.0,
        id_of=lambda item: str(item["id"]),
        payload_hash_of=lambda item: str(item["id"]),
    )
    outcome = Outcome(kind="succeeded", paid=True, result={"label": "hot"}).model_dump()
    config = IdempotencyConfig()
    config.register_lambda_context(cast(Any, _Context()))

    def effect(*, item: dict[str, str]) -> dict[str, Any]:  # noqa: ARG001
        return outcome

    guarded = idempotent_function(effect, data_keyword_argument="item", config=config, persistence_store=store)

    def call(name: str) -> object:
        with new_run(deadline=time.time() + INVOCATION_S, origin="u/1"):
            return guarded(item={"id": name})

    return call


def _stock(table_name: str) -> Callable[[str], object]:
    from aws_lambda_powertools.utilities.idempotency import (  # noqa: PLC0415
        DynamoDBPersistenceLayer,
        IdempotencyConfig,
        idempotent_function,
    )

    config = IdempotencyConfig()
    config.register_lambda_context(cast(Any, _Context()))

    def effect(*, item: dict[str, str]) -> dict[str, Any]:  # noqa: ARG001
        return {"kind": "succeeded", "label": "hot"}

    layer = DynamoDBPersistenceLayer(table_name)
    guarded = idempotent_function(effect, data_keyword_argument="item", config=config, persistence_store=layer)
    return lambda name: guarded(item={"id": name})


class _Context:
    """Of Lambda's context, what Powertools asks."""

    function_name = "bench"

    def get_remaining_time_in_millis(self) -> int:
        return int(INVOCATION_S * 1000)
