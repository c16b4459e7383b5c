"""What identifies one classification to the effect store. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TypedDict

from functions.classify.task import Task
from functions.uploads.keys import canonical_json, record_id


class EffectItem(TypedDict):
    """The record's id, and exactly the fields the model is shown."""

    id: str
    rendered: dict[str, str]


def effect_item(task: Task, key: str, rendered: Mapping[str, str]) -> EffectItem:
    return {"id": record_id(task.name, key), "rendered": dict(rendered)}


def payload_hash(item: EffectItem) -> str:
    """Digest of the rendered fields, 64 hex digits: a repeat of the key must match it."""
    return input_digest(item["rendered"])


def input_digest(rendered: Mapping[str, str]) -> str:
    return hashlib.sha256(canonical_json(dict(rendered))).hexdigest()
