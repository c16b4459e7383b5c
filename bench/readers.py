"""Passes over one CSV file: bare, by admission, and by the peers. Each function prepares one pass for `bench.child`.

The peers run in an environment of their own, so they are imported where they are used, and nothing of ours is.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

_CHUNK_BYTES = 128 * 1024


def bare(path: str) -> Any:
    """`csv.reader`, and nothing done with the rows."""

    def run() -> Mapping[str, Any]:
        rows = 0
        with Path(path).open(encoding="utf-8", newline="") as stream:
            for _ in csv.reader(stream):
                rows += 1
        return {"rows": rows - 1}

    return run


def admission(path: str) -> Any:
    """The admission report: decoded, validated, keyed and priced. A look-up of keys finds nothing and takes no time."""
    from functions.classify.task import build_task  # noqa: PLC0415 - not needed beside the peers
    from functions.intake.report import Examiner  # noqa: PLC0415
    from functions.settings import Limits, TaskSettings  # noqa: PLC0415

    def read_many(_ids: Sequence[str]) -> Mapping[str, Any]:
        return {}

    examiner = Examiner(build_task(TaskSettings()), Limits.from_env({}), 1, read_many)

    def run() -> Mapping[str, Any]:
        report = examiner.report(lambda: chunks(Path(path)))
        return {"rows": report.counts.valid, "bytes": report.size}

    return run


def pandas(path: str) -> Any:
    """`pandas.read_csv` into a frame of texts: no validation, no keys, no duplicates."""
    import pandas as pd  # type: ignore[import-untyped,import-not-found,unused-ignore]  # noqa: PLC0415 - the peers' environment has it, ours does not

    def run() -> Mapping[str, Any]:
        return {"rows": len(pd.read_csv(path, dtype=str, keep_default_na=False))}

    return run


def frictionless(path: str) -> Any:
    """frictionless validating against a schema: required columns, an e-mail address that is unique."""
    from frictionless import (  # type: ignore[import-not-found]  # noqa: PLC0415 - as above
        Resource,
        Schema,
    )

    address = {"required": True, "unique": True}
    fields = [
        {"name": "name", "type": "string", "constraints": {"required": True}},
        {"name": "email", "type": "string", "format": "email", "constraints": address},
        *({"name": name, "type": "string"} for name in ("company", "title", "notes")),
    ]
    file = Path(path)
    schema = Schema.from_descriptor({"fields": fields})
    resource = Resource(path=file.name, basepath=str(file.parent), schema=schema)

    def run() -> Mapping[str, Any]:
        report = resource.validate()
        return {"rows": report.tasks[0].stats["rows"], "valid": report.valid}

    return run


def chunks(path: Path) -> Iterator[bytes]:
    """The file's bytes as S3's client hands them on."""
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            yield chunk
