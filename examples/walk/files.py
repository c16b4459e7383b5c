"""The files that are uploaded on the walk, and the script of the stand-in that makes the model misbehave."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import Path

SETTINGS = {
    "max_upload_microusd": "110000",
    "max_receives": "2",
    "backoff_base_s": "0.2",
    "quiet_s": "1",
    "intake_timeout_s": "6",
    "stop_before_timeout_s": "2",
    "reconcile_s": "3600",
}
"""A ceiling of 0.11 USD for an upload, and everything that takes minutes on AWS takes seconds; but the reconciler waits
for its command, so that an unknown refund can be looked at."""

RECEIVES = int(SETTINGS["max_receives"])

CALLS, LOCKED, MANY, BUSY = 40, 8, 400, 4
"""Rows of each file."""

_HEADER = ("email", "name", "company", "title", "notes")
_CALL = "They asked about seats, single sign-on and the price, and want to hear from us again next week. "
_CALL_CHARACTERS = 30_000
_LOCKED_NOTE, _BUSY_NOTE, _SLOW_NOTE = "met at the locked door", "works in a crowded market", "Transcript of call 1 "

SCRIPT = [
    {"when": {"contains": _SLOW_NOTE}, "then": {"delay_s": 4}},
    {"when": {"contains": _LOCKED_NOTE}, "times": 1, "then": {"status": 401, "type": "authentication_error"}},
    {"when": {"contains": _BUSY_NOTE}, "times": BUSY * RECEIVES, "then": {"status": 529, "type": "overloaded_error"}},
]

REFUND = f"rf_{'5a' * 16}"
PAYMENTS = {"rules": [{"when": {"request_id": REFUND}, "times": 1, "then": {"drop": "after_applying"}}]}
"""The payment provider makes this refund, and drops the connection instead of answering."""


def write_files(folder: Path) -> None:
    """The scripts and the files, into a folder."""
    (folder / "script.json").write_text(json.dumps(SCRIPT, indent=1))
    (folder / "payments.json").write_text(json.dumps(PAYMENTS, indent=1))
    for name, notes in {
        "calls.csv": (_transcript(number) for number in range(1, CALLS + 1)),
        "locked.csv": (_LOCKED_NOTE for _ in range(LOCKED)),
        "many.csv": ("asked for a brochure" for _ in range(MANY)),
        "busy.csv": (_BUSY_NOTE for _ in range(BUSY)),
    }.items():
        (folder / name).write_text(_leads(name.removesuffix(".csv"), notes))


def _leads(group: str, notes: Iterable[str]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(_HEADER)
    for number, note in enumerate(notes, 1):
        writer.writerow((f"{group}{number}@example.com", f"Pat {number}", f"Firm {number}", "Buyer", note))
    return text.getvalue()


def _transcript(number: int) -> str:
    return f"Transcript of call {number} " + _CALL * (_CALL_CHARACTERS // len(_CALL))
