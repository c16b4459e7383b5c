"""How the naive stacks get their rows: the CSV read with the standard library, each row a message of the queue."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from functions.classify.task import Task

_ENTRIES_A_CALL = 10
_CALLS = 3


class NotPublishedError(Exception):
    """The queue did not take some rows."""


def publish(sqs: Any, queue_url: str, content: str, task: Task) -> int:
    """Send every row once and return how many. Raises NotPublishedError, and whatever boto3 raises.

    SendMessageBatch reports each entry for itself and may fail some with a 200
    (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html), so they are sent
    again alone.
    """
    entries = list(_entries(content, task))
    for first in range(0, len(entries), _ENTRIES_A_CALL):
        _send(sqs, queue_url, entries[first : first + _ENTRIES_A_CALL])
    return len(entries)


def _send(sqs: Any, queue_url: str, entries: Sequence[Mapping[str, str]]) -> None:
    left = entries
    for _ in range(_CALLS):
        answer = sqs.send_message_batch(QueueUrl=queue_url, Entries=left)
        failed = {failure["Id"] for failure in answer.get("Failed", ())}
        left = [entry for entry in left if entry["Id"] in failed]
        if not left:
            return
    raise NotPublishedError(f"the queue refused {len(left)} rows {_CALLS} times")


def _entries(content: str, task: Task) -> Iterator[dict[str, str]]:
    """`row` names the record of the file, `row_key` what is asked of the model: the key of our stack."""
    for number, record in enumerate(csv.DictReader(io.StringIO(content, newline="")), start=1):
        fields = task.rendered(record)
        body = {"row": str(number), "row_key": task.key(fields), "fields": fields}
        yield {"Id": str(number), "MessageBody": json.dumps(body)}
