"""Key look-up and publishing on a bus and tables in memory: what they take of the processor, without any network."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench.readers import chunks
from functions.classify.task import build_task
from functions.effects.table import EffectTable
from functions.events.entries import MAX_ENTRIES, USABLE_BYTES
from functions.events.publisher import Publisher
from functions.intake.publish import Publishing
from functions.intake.report import Examiner
from functions.settings import Limits, TaskSettings
from functions.uploads.model import Upload

_BUS = "arn:aws:events:us-east-1:111122223333:event-busv2/prospects/abcdefghijklmnopqrstuvwxy"


class _Bus:
    """Accepts everything and keeps nothing."""

    def __init__(self) -> None:
        self.calls = self.entries = self.bytes = 0

    def put_events(self, *, EventBusArn: str, Entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:  # noqa: ARG002, N803
        self.calls += 1
        self.entries += len(Entries)
        self.bytes += sum(len(entry["Detail"]) for entry in Entries)
        return {"Entries": [{"EventId": "e", "SuccessCode": "PUBLISHED"} for _ in Entries]}


class _Effects:
    """An empty table, as boto3's resource and its client at once."""

    name = "idempotency"

    def __init__(self) -> None:
        self.meta = SimpleNamespace(client=self)
        self.calls = 0

    def batch_get_item(self, **_: Any) -> Mapping[str, Any]:
        self.calls += 1
        return {"Responses": {self.name: []}}


class _Uploads:
    """Says that every checkpoint was written."""

    def advance_checkpoint(self, *_: Any) -> object:
        return self

    def leave_publishing(self, *_: Any, **__: Any) -> object:
        return self


class _Source:
    def __init__(self, path: Path) -> None:
        self._path = path

    def open(self, _: Any) -> Iterator[bytes]:
        return chunks(self._path)


def publishing(path: str) -> Any:
    """Publish every row of a file: read again, looked up, packed, put on the bus."""
    effects, bus, task, limits = _Effects(), _Bus(), build_task(TaskSettings()), Limits()
    table: Any = effects
    report = Examiner(task, limits, 1, lambda _: {}).report(lambda: chunks(Path(path)))
    upload = Upload(
        upload_id="u-bench",
        state="running",
        bucket="b",
        object_key="k",
        version_id="v",
        sha256=report.sha256,
        bytes=report.size,
        created_at=0,
        task=task.to_json(),
        prompt_version=task.prompt_version,
        columns=task.columns,
        limits=limits.model_dump(),
        encoding=report.encoding,
        encoding_guessed=False,
        delimiter=report.delimiter,
        header=report.header,
        counts=report.counts,
        worst_case_microusd=report.worst_case_microusd,
    )
    stand_ins: dict[str, Any] = {"source": _Source(Path(path)), "table": _Uploads()}
    use_case = Publishing(
        **stand_ins,
        read_many=EffectTable(table).read_many,
        publisher=Publisher(bus, _BUS),
        bus_arn=_BUS,
        max_paid_attempts=1,
    )

    def run() -> Mapping[str, Any]:
        end = use_case.publish(upload, time.time() + 3600)
        by_count, by_size = math.ceil(bus.entries / MAX_ENTRIES), math.ceil(bus.bytes / USABLE_BYTES)
        return {
            "end": end,
            "rows": report.counts.valid,
            "published": bus.entries,
            "put_events": bus.calls,
            "allowed": max(by_count, by_size),
            "look_ups": effects.calls,
            "event_bytes": bus.bytes,
        }

    return run
