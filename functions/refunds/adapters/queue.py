"""From a queue: a batch with ReportBatchItemFailures, each message by itself and under its own request_id.

The key is the record's and never the batch's, so one record's failure brings no other one back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from functions.refunds.adapters.inbox import Inbox
from functions.refunds.adapters.paying import ERRORS, GIVEN_UP, Paying, Told
from functions.refunds.answer import RETRYABLE, Answer
from functions.refunds.errors import RefundError

FAILED = "refund_failed"


class QueueWorker:
    """`handle` says which messages are to be delivered again; every other one is done with, or in the DLQ by name."""

    def __init__(self, paying: Paying, inbox: Inbox, told: Told, *, max_receives: int) -> None:
        self._paying = paying
        self._inbox = inbox
        self._told = told
        self._max_receives = max_receives

    def handle(self, records: Sequence[Mapping[str, Any]], *, deadline: float) -> dict[str, list[dict[str, str]]]:
        """One after the other: each checks for itself that its provider can still answer before the `deadline`."""
        failed = [record for record in records if not self._acknowledged(record, deadline)]
        for record in failed:
            # Redrive takes it without an invocation that could tell.
            if int(record["attributes"]["ApproximateReceiveCount"]) >= self._max_receives:
                self._told(GIVEN_UP, {"message_id": record["messageId"]})
        return {"batchItemFailures": [{"itemIdentifier": record["messageId"]} for record in failed]}

    def _acknowledged(self, record: Mapping[str, Any], deadline: float) -> bool:
        try:
            return self._settled(record, deadline)
        except Exception as error:  # noqa: BLE001 - this message comes again; the others of its batch are settled
            self._told(ERRORS, {"message_id": record["messageId"], "error": type(error).__name__})
            return False

    def _settled(self, record: Mapping[str, Any], deadline: float) -> bool:
        body = record["body"]
        try:
            answer = self._paying(_decoded(body), deadline=deadline)
        except RefundError as error:
            if error.retryable:
                return False
            # Coming again would change nothing; a person finds the message, and why it is there.
            self._inbox.dead_letter(body, error.code)
            return True
        return self._answered(record, answer)

    def _answered(self, record: Mapping[str, Any], answer: Answer) -> bool:
        if answer.status in RETRYABLE:
            if answer.retry_after_s:
                self._inbox.come_back(record["receiptHandle"], answer.retry_after_s)
            return False
        if answer.status == "failed":
            self._inbox.dead_letter(record["body"], FAILED)
        # An unknown one is the reconciler's: delivered again, it would only be told the same.
        return True


def _decoded(body: str) -> object:
    """What is no JSON is refused as any other thing that is no request."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
