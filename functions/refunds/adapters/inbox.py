"""The queue of refund requests and its dead-letter queue, as their worker uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions.crash_points import crossing

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient

MAX_VISIBILITY_S = 43_200
"""Longest visibility timeout (SQS quota), counted from the receive."""


class Inbox:
    """Thin: every method is one call of SQS. A repeated send is one more message, which is harmless to both queues."""

    def __init__(self, client: SQSClient, queue_url: str, dlq_url: str) -> None:
        self._client = client
        self._queue_url = queue_url
        self._dlq_url = dlq_url

    def dead_letter(self, body: str, reason: str) -> None:
        """Put the message, as it came, into the dead-letter queue, with the code of what was wrong."""
        with crossing("refunds.dlq_send"):
            self._client.send_message(
                QueueUrl=self._dlq_url,
                MessageBody=body,
                MessageAttributes={"reason": {"DataType": "String", "StringValue": reason}},
            )

    def come_back(self, receipt: str, seconds: int) -> None:
        """Make a message that is not acknowledged visible again in so many seconds."""
        with crossing("refunds.visibility"):
            self._client.change_message_visibility(
                QueueUrl=self._queue_url,
                ReceiptHandle=receipt,
                VisibilityTimeout=min(max(seconds, 0), MAX_VISIBILITY_S),
            )
