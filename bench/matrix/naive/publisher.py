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


def publish(sqs: Any, queue_url: str, content: str, task: Task, *, version: str) -> list[str]:
    """Send every row of one version of a file once; returns their names. Raises NotPublishedError, and what boto3 does.

    SendMessageBatch reports each entry for itself and may fail some with a 200
    (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html), so they are sent
    again alone.
    """
    rows = list(_rows(content, task, version))
    entries = [{"Id": str(at), "MessageBody": json.dumps(row)} for at, row in enumerate(rows)]
    for first in range(0, len(entries), _ENTRIES_A_CALL):
        _send(sqs, queue_url, entries[first : first + _ENTRIES_A_CALL])
    return [row["row"] for row in rows]


def _send(sqs: Any, queue_url: str, entries: Sequence[Mapping[str, str]]) -> None:
    left = entries
    for _ in range(_CALLS):
        answer = sqs.send_message_batch(QueueUrl=queue_url, Entries=left)
        failed = {failure["Id"] for failure in answer.get("Failed", ())}
        left = [entry for entry in left if entry["Id"] in failed]
        if not left:
            return
    raise NotPublishedError(f"the queue refused {len(left)} rows {_CALLS} times")


def _rows(content: str, task: Task, version: str) -> Iterator[dict[str, Any]]:
    """`row` names the record of the version; `row_key`, what is asked of the model, as the key of our stack does."""
    for number, record in enumerate(csv.DictReader(io.StringIO(content, newline="")), start=1):
        fields = task.rendered(record)
        yield {"row": f"{version}/{number}", "row_key": task.key(fields), "fields": fields}
