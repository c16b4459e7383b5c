"""Everything that a cloud says of its work beside the results: where no row and no file's name may be."""

from __future__ import annotations

import json
from typing import Any

from local.cloud import LocalCloud


def said_by(cloud: LocalCloud) -> str:
    """Log lines of every function, metrics, what dead letters say of themselves, and the names of all things."""
    return "\n".join([*_log_lines(cloud), json.dumps(cloud.metrics()), *_dead_letters(cloud), *_names(cloud)])


def _log_lines(cloud: LocalCloud) -> list[str]:
    logs = cloud.client("logs")
    groups = [group["logGroupName"] for group in logs.describe_log_groups()["logGroups"]]
    lines = [event["message"] for group in groups for event in logs.filter_log_events(logGroupName=group)["events"]]
    assert any('"level"' in line for line in lines)
    return [*groups, *lines]


def _dead_letters(cloud: LocalCloud) -> list[str]:
    """Attributes alone: a dead letter's body is the row's event, so that nothing is lost."""
    sqs, said = cloud.client("sqs"), list[str]()
    for pair in cloud.outputs["DeadLetterQueues"].split(","):
        url = pair.partition("=")[2]
        # Seen and left at once, since other tests count them.
        found: Any = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], VisibilityTimeout=0
        )
        said += [json.dumps(letter.get("MessageAttributes", {})) for letter in found.get("Messages", ())]
    return said


def _names(cloud: LocalCloud) -> list[str]:
    queues = cloud.client("sqs").list_queues().get("QueueUrls", [])
    functions = [each["FunctionName"] for each in cloud.client("lambda").list_functions()["Functions"]]
    alarms = [each["AlarmName"] for each in cloud.client("cloudwatch").describe_alarms()["MetricAlarms"]]
    tables = cloud.client("dynamodb").list_tables()["TableNames"]
    return [*queues, *functions, *alarms, *tables]
