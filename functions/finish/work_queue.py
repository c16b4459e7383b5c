"""How full the queue of classify is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from functions.crash_points import crossing
from functions.uploads.sweeps import SweepsTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.literals import QueueAttributeNameType

DEPTHS: Sequence[QueueAttributeNameType] = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)
"""Visible, in flight and delayed. SQS counts approximately, so one look proves nothing and a while of them counts."""


class WorkQueue:
    """Looked at once a tick at most, when somebody asks."""

    def __init__(self, client: SQSClient, queue_url: str, sweeps: SweepsTable) -> None:
        self._client = client
        self._queue_url = queue_url
        self._sweeps = sweeps
        self._looked = False
        self._empty_since: int | None = None

    def empty_since(self) -> int | None:
        """Since when every look found it empty, this one included (seconds since the epoch); None: it is not."""
        if not self._looked:
            with crossing("finish.queue_depth"):
                answer = self._client.get_queue_attributes(QueueUrl=self._queue_url, AttributeNames=DEPTHS)
            depths = answer["Attributes"]
            empty = not any(int(depths[name]) for name in DEPTHS)
            self._empty_since = self._sweeps.queue_empty_since(empty=empty)
            self._looked = True
        return self._empty_since
