"""A business key on the command line: its 64 hex digits, or the id of its record, as the table and the logs have it."""

from __future__ import annotations

from functions.operate.audit import TASK_NAME
from functions.operate.errors import is_key

KEY_OR_UPLOAD = f"A business key (64 hex digits, or {TASK_NAME}:KEY as its record is called), or an upload."
NEITHER = f"Name a key of 64 hex digits (or {TASK_NAME}:KEY), or an upload and a row: prospects {{command}} UPLOAD ROW."


def key_named(text: str) -> str:
    """The key; empty where the text is none."""
    key = text.removeprefix(f"{TASK_NAME}:")
    return key if is_key(key) else ""
