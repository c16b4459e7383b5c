"""The worker's own queue and its dead-letter queue, as the worker uses them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions.crash_points import crossing

if TYPE_CHECKING:
    from mypy_boto3_sqs.client import SQSClient


class Queues:
    """Thin: every method is one call of SQS. A repeated send is one more message, which is harmless to both queues."""

    def __init__(self, client: SQSClient, queue_url: str, dlq_url: str) -> None:
        self._client = client
        self._queue_url = queue_url
        self._dlq_url = dlq_url

    def dead_letter(self, body: str, reason: str, *, upload_id: str = "", row_number: int | None = None) -> None:
        """Put the message, as it came, into the dead-letter queue, with what is known of it as attributes."""
        known = {"reason": reason, "upload_id": upload_id, "row_number": "" if row_number is None else str(row_number)}
        with crossing("classify.dead_letter"):
            self._client.send_message(
                QueueUrl=self._dlq_url,
                MessageBody=body,
                # SQS takes no empty attribute.
                MessageAttributes={
                    name: {"DataType": "String", "StringValue": value} for name, value in known.items() if value
                },
            )

    def come_back(self, receipt: str, seconds: int) -> None:
        """Make a message that is not acknowledged visible again in so many seconds."""
        with crossing("classify.come_back"):
            self._client.change_message_visibility(
                QueueUrl=self._queue_url, ReceiptHandle=receipt, VisibilityTimeout=seconds
            )

    def send_again(self, body: str, seconds: int) -> None:
        """Send a copy of a message, delivered no sooner than in so many seconds and with receives of its own."""
        with crossing("classify.send_again"):
            self._client.send_message(QueueUrl=self._queue_url, MessageBody=body, DelaySeconds=seconds)
