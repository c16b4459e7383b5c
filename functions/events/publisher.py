"""Publishing to the Custom Event Bus: every entry at least once, none needlessly twice.

The bus accepts and refuses the entries of one request one by one, answers 200 either way, and suppresses a repeated
DeduplicationId for 300 s. So a resend keeps its id, and only what was not accepted is sent again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from functions.crash_points import crossing
from functions.events.entries import Entry, packed

SOURCE = "prospect-uploader"
CLIENT_CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 2}, connect_timeout=5, read_timeout=10)
"""For the client: the publisher repeats with its own pauses, so boto3 only has to bridge a broken connection."""
PASSING_ERRORS = frozenset(
    {"ThrottlingException", "InternalException", "ServiceUnavailable", "ServiceUnavailableException", "RequestTimeout"}
)
"""Whole-request errors that say nothing against the request (the service model marks them as worth a retry)."""
FINAL_ENTRY_ERRORS = frozenset({"VALIDATION_ERROR"})
"""The one documented code of an entry that no repeat can mend."""


class EventsClient(Protocol):
    """The part of boto3's `eventbridgev2` client that is used."""

    def put_events(self, *, EventBusArn: str, Entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]: ...  # noqa: N803


class PublishIncomplete(Exception):  # noqa: N818 - the design's word
    """Some entries were not published. `unpublished` maps their deduplication ids to the code of the last refusal."""

    def __init__(self, unpublished: Mapping[str, str]) -> None:
        codes = ", ".join(sorted(set(unpublished.values())))
        super().__init__(f"{len(unpublished)} entries were not published to the event bus ({codes})")
        self.unpublished = dict(unpublished)

    @property
    def final(self) -> bool:
        """Whether no repeat can mend any of them."""
        return set(self.unpublished.values()) <= FINAL_ENTRY_ERRORS


class PublishRefused(Exception):  # noqa: N818
    """The bus refused a whole request and no repeat can mend it: permission, a missing bus, a bug of ours."""

    def __init__(self, code: str) -> None:
        super().__init__(f"the event bus refused the request: {code}")
        self.code = code


class Publisher:
    """Publishes entries to one bus. `client` is boto3's `eventbridgev2` client; seconds everywhere."""

    def __init__(
        self,
        client: EventsClient,
        bus_arn: str,
        *,
        max_tries: int = 8,
        backoff_base_s: float = 0.1,
        backoff_max_s: float = 3.0,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._client = client
        self._bus_arn = bus_arn
        self._max_tries = max_tries
        self._backoff_base_s = backoff_base_s
        self._backoff_max_s = backoff_max_s
        self._sleep = sleep
        self._jitter = jitter

    def publish(self, entries: Iterable[Entry]) -> None:
        """Publish every entry; a suppressed duplicate counts as published.

        Raises EntryTooLarge before anything is sent; PublishIncomplete after `max_tries` rounds (or at once for an
        entry that no repeat can mend, when the rest is published); PublishRefused when the whole request is wrong.
        """
        requests = list(packed(entries, self._bus_arn))
        final: dict[str, str] = {}
        for round_number in range(1, self._max_tries + 1):
            refused = [pair for request in requests for pair in self._send(request)]
            final |= {entry.dedup_id: code for entry, code in refused if code in FINAL_ENTRY_ERRORS}
            again = [(entry, code) for entry, code in refused if code not in FINAL_ENTRY_ERRORS]
            if not again:
                break
            if round_number == self._max_tries:
                raise PublishIncomplete(final | {entry.dedup_id: code for entry, code in again})
            self._sleep(self._pause(round_number))
            requests = list(packed((entry for entry, _ in again), self._bus_arn))
        if final:
            raise PublishIncomplete(final)

    def _send(self, request: Sequence[Entry]) -> list[tuple[Entry, str]]:
        """The entries of one request that were not accepted, each with its code."""
        entries = [_on_the_wire(entry) for entry in request]
        try:
            with crossing("events.put_events"):
                answer = self._client.put_events(EventBusArn=self._bus_arn, Entries=entries)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code not in PASSING_ERRORS:
                raise PublishRefused(code) from None
            return [(entry, code) for entry in request]
        except ParamValidationError:
            raise PublishRefused("ParamValidationError") from None
        except BotoCoreError as error:
            # No answer: the entries may be on the bus. Their ids make sending them again harmless.
            return [(entry, type(error).__name__) for entry in request]
        return _not_accepted(request, answer)

    def _pause(self, round_number: int) -> float:
        ceiling: float = min(self._backoff_max_s, self._backoff_base_s * 2.0 ** (round_number - 1))
        return ceiling * (0.5 + 0.5 * self._jitter())


def _on_the_wire(entry: Entry) -> dict[str, Any]:
    return {
        "Source": SOURCE,
        "DetailType": entry.detail_type,
        "Detail": entry.text,
        "SystemMetadata": {"DeduplicationId": entry.dedup_id},
    }


def _not_accepted(request: Sequence[Entry], answer: Mapping[str, Any]) -> list[tuple[Entry, str]]:
    # FailedEntryCount may be absent and is a hint at best: each entry's own result decides, by position.
    results = answer.get("Entries") or []
    if len(results) != len(request):
        return [(entry, "unreadable_answer") for entry in request]
    return [(entry, code) for entry, result in zip(request, results, strict=True) if (code := _refusal(result))]


def _refusal(result: Mapping[str, Any]) -> str:
    """The code of an entry that was not accepted; empty for PUBLISHED and DEDUPLICATED."""
    if result.get("ErrorCode"):
        return str(result["ErrorCode"])
    return "" if result.get("SuccessCode") or result.get("EventId") else "unreadable_answer"
