"""What became of each message of a batch, in ids and codes alone: fit for logs and metrics. Pure."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

Ending = Literal[
    "classified", "failed", "unknown", "repeated", "retry", "in_progress", "given_up", "copied", "held", "stopped",
    "malformed", "error",
]  # fmt: skip
"""`repeated`: the row had its item already. `copied`: sent again, since what it waits for outlives the message.
`held`: the model refuses the account, and the row waits for its upload to be resumed."""


@dataclass(frozen=True)
class Result:
    """One message. Not `acknowledged`: the queue delivers it again, or moves it to the dead-letter queue.

    `cost_microusd` is what was spent for this row by this invocation. `pauses`: the model refuses the account, not the
    row. `error` describes an exception without its text.
    """

    message_id: str
    ending: Ending
    acknowledged: bool
    reason: str = ""
    upload_id: str = ""
    row_number: int | None = None
    cost_microusd: int = 0
    pauses: bool = False
    error: dict[str, str] | None = None


def failed_messages(results: Iterable[Result]) -> dict[str, list[dict[str, str]]]:
    """The answer to an event source mapping with ReportBatchItemFailures."""
    return {
        "batchItemFailures": [{"itemIdentifier": result.message_id} for result in results if not result.acknowledged]
    }


def describe(error: BaseException) -> dict[str, str]:
    """An exception without its text, which may quote a row: its class, AWS's code, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "functions" in frame.filename.replace("\\", "/").split("/")]
    cause = error.__cause__
    description = {"error": type(error).__name__}
    if ours:
        description["at"] = f"{ours[-1].filename.rpartition('functions')[2].lstrip('/')}:{ours[-1].lineno}"
    if code := _aws_code(error) or _aws_code(cause):
        description["code"] = code
    if cause is not None:
        description["cause"] = type(cause).__name__
    return description


def _aws_code(error: BaseException | None) -> str:
    response: Any = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""
