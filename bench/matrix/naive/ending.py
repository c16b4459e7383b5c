"""Where the rows of a naive stack are: waiting, answered, in the dead-letter queue, or nowhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from bench.matrix.naive.cloud import NaiveCloud
from bench.matrix.naive.template import RESULTS

_DEPTHS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)


def waiting(cloud: NaiveCloud) -> int:
    """Messages that are in the work queue, hidden ones too: while there is one, something can still happen."""
    url = cloud.outputs["QueueUrl"]
    attributes = cloud.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=list(_DEPTHS))["Attributes"]
    return sum(int(attributes[depth]) for depth in _DEPTHS)


def answered(cloud: NaiveCloud) -> set[str]:
    """The rows with a stored result."""
    pages = cloud.client("dynamodb").get_paginator("scan").paginate(TableName=RESULTS, ConsistentRead=True)
    return {item["row"]["S"] for page in pages for item in page["Items"]}


def dead(cloud: NaiveCloud) -> set[str]:
    """The rows in the dead-letter queue; it is empty afterwards."""
    return {json.loads(message["Body"])["row"] for message in _drained(cloud)}


def _drained(cloud: NaiveCloud) -> Iterator[Any]:
    sqs, url = cloud.client("sqs"), cloud.outputs["DeadLetterQueueUrl"]
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        yield from messages
        entries = [{"Id": message["MessageId"], "ReceiptHandle": message["ReceiptHandle"]} for message in messages]
        sqs.delete_message_batch(QueueUrl=url, Entries=entries)
