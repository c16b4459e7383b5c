"""What became of each message of a batch, in ids and codes alone: fit for logs and metrics. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

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
