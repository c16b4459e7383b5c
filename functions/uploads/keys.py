"""Identities, derived from inputs alone: never from an event id, a message id, a timestamp or a model's answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

SHARDS = 16
META = "META"
# Made once: json.dumps makes one per call, which would be a third of a key's cost.
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_json(value: object) -> bytes:
    """One spelling per value: sorted names, no spaces, UTF-8 (not escaped). Golden tests pin the bytes."""
    return _ENCODER.encode(value).encode()


def classification_key(task_name: str, prompt_version: str, fields: Mapping[str, str]) -> str:
    """The business key of one classification: the task, its version and exactly the fields rendered, 64 hex digits."""
    payload = {"task": task_name, "prompt_version": prompt_version, "fields": dict(fields)}
    return hashlib.sha256(canonical_json(payload)).hexdigest()


def record_id(task_name: str, key: str) -> str:
    """The `id` of an effect in the idempotency table; intake can compute it without running anything."""
    return f"{task_name}:{key}"


def upload_id(sha256_of_bytes: str, prompt_version: str) -> str:
    """One upload per content and prompt version, whatever the object is called: `u-` and 24 hex digits."""
    return "u-" + hashlib.sha256(f"{sha256_of_bytes}\n{prompt_version}".encode()).hexdigest()[:24]


def row_event_id(upload: str, row_number: int, generation: int) -> str:
    """The DeduplicationId of a row on the bus. A resend keeps the generation; only a deliberate republish raises it."""
    return hashlib.sha256(f"{upload}\n{row_number}\n{generation}".encode()).hexdigest()


def row_origin(upload: str, row_number: int) -> str:
    """How a record names the row that asked for its latest attempt."""
    return f"{upload}/{row_number}"


def row_address(upload: str, row_number: int) -> dict[str, str]:
    """Where a row's item lives: spread over 16 partitions, sorted by row number within each."""
    return {"pk": shard_pk(upload, row_number % SHARDS), "sk": f"{row_number:09d}"}


def shard_pk(upload: str, shard: int) -> str:
    return f"{upload}#{shard:02d}"


def meta_address(upload: str) -> dict[str, str]:
    return {"pk": shard_pk(upload, 0), "sk": META}


def object_address(object_key: str, version_id: str) -> dict[str, str]:
    """What became of one version of one object. S3 keys are at most 1,024 bytes, so the partition key fits."""
    return {"pk": f"OBJECT#{object_key}", "sk": version_id}


def open_address(upload: str) -> dict[str, str]:
    return {"pk": "OPEN", "sk": upload}


def budget_address(day: str) -> dict[str, str]:
    return {"pk": "BUDGET", "sk": day}
