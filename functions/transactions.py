"""Transactions of DynamoDB that meet each other, and what a refusal means."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from botocore.exceptions import ClientError

_FAILED, _CONFLICT = "ConditionalCheckFailed", "TransactionConflict"
_LONGEST_WAIT_S = 1.0


class TransactionRefusedError(Exception):
    """Conditions of a transaction did not hold; `places` are the positions of those writes, from 0."""

    def __init__(self, places: frozenset[int]) -> None:
        super().__init__("a transaction's condition did not hold; nothing was written")
        self.places = places


def refused_by_condition(error: ClientError) -> bool:
    """Whether DynamoDB refused a single write because its condition did not hold."""
    return error.response["Error"]["Code"] == "ConditionalCheckFailedException"


def met_another(error: ClientError) -> bool:
    """Whether a transaction was cancelled because another one is at work on the same items.

    Conditions that did not hold beside that may be the other's doing, and the other an earlier call of this very write:
    which of them it leaves unmet is told once it has ended.
    """
    reasons = _reasons(error)
    return _CONFLICT in reasons and set(reasons) <= {_CONFLICT, _FAILED, "None"}


class Try:
    """One call of a transaction stands in it. Raises TransactionRefusedError for conditions that did not hold, and lets
    every other error through; the last try that one too by which it met another transaction.
    """

    def __init__(self, *, last: bool) -> None:
        self._last = last
        self.again = False

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(error, ClientError):
            return False
        if met_another(error):
            self.again = not self._last
            return self.again
        places = frozenset(place for place, code in enumerate(_reasons(error)) if code == _FAILED)
        if places:
            raise TransactionRefusedError(places) from None
        return False


def until_alone(tries: int, sleep: Callable[[float], None]) -> Iterator[Try]:
    """``for attempt in until_alone(…): with attempt: …``, at most `tries` times.

    boto3 does not repeat a transaction that met another one by itself; it gives each call a token, so its own repeat
    after a lost response is the same one.
    """
    for tried in range(tries):
        attempt = Try(last=tried == tries - 1)
        yield attempt
        if not attempt.again:
            return
        sleep(random.uniform(0, min(_LONGEST_WAIT_S, 0.05 * 2**tried)))


def _reasons(error: ClientError) -> list[str]:
    reasons: list[Any] = list(error.response.get("CancellationReasons", ()))
    return [reason.get("Code", "None") for reason in reasons]
