"""Acceptance cases about failures that nobody handles, by kind: where the event ends, and who is told of it.

One local cloud; a minute of metrics lasts half a second, and the sweep that finds lost files is too slow to interfere.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections import Counter
from collections.abc import Iterator

import pytest

from local.cloud import LocalCloud
from local.options import LocalCloudOptions
from tests.local.toy import wait_for

LATER = {"object_sweep_s": "86400", "object_grace_s": "86400"}
RULE_DLQ, FAILURES = "intake-rule-dlq", "intake-failures"
RAISING = "def handler(event, context):\n    raise ValueError('a bug')\n"


@pytest.fixture(scope="module")
def cloud() -> Iterator[LocalCloud]:
    with LocalCloud(LocalCloudOptions(minute_s=0.5, context=LATER)) as running:
        wait_for(lambda: set(running.alarms().values()) == {"OK"}, deadline_s=60)
        yield running


def upload(cloud: LocalCloud, name: str) -> None:
    body = b"email,name\na@example.com,A\n"
    cloud.client("s3").put_object(Bucket=cloud.outputs["UploadsBucketName"], Key=f"uploads/{name}", Body=body)


def queue_url(cloud: LocalCloud, name: str) -> str:
    return dict(pair.split("=", 1) for pair in cloud.outputs["DeadLetterQueues"].split(","))[name]


def messages(cloud: LocalCloud) -> dict[str, int]:
    return {name: count for name, count in cloud.dead_letters().items() if count}


def raising() -> bytes:
    """The function's code with a handler that raises."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("functions/intake/handler.py", RAISING)
    return written.getvalue()


def notices(cloud: LocalCloud, alarm: str) -> Counter[str]:
    subjects = (notice.subject for notice in cloud.outbox())
    return Counter(subject.partition(":")[0] for subject in subjects if f"-{alarm}" in subject)


def test_dlq_delivery_and_kms_a28(cloud: LocalCloud) -> None:
    functions, name = cloud.client("lambda"), cloud.outputs["IntakeFunctionName"]
    (granted,) = json.loads(functions.get_policy(FunctionName=name)["Policy"])["Statement"]
    functions.remove_permission(FunctionName=name, StatementId=granted["Sid"])
    upload(cloud, "not-invocable.csv")
    wait_for(lambda: messages(cloud) == {RULE_DLQ: 1})

    functions.add_permission(
        FunctionName=name,
        StatementId="restored",
        Action=granted["Action"],
        Principal="events.amazonaws.com",
        SourceArn=granted["Condition"]["ArnLike"]["AWS:SourceArn"],
    )
    functions.update_function_code(FunctionName=name, ZipFile=raising())
    upload(cloud, "raising.csv")
    wait_for(lambda: messages(cloud) == {RULE_DLQ: 1, FAILURES: 1})
    # Not one for each of the three attempts, and nothing of the second event in the rule's.
    wait_for(lambda: {f"ProspectUploader-{each}-depth" for each in (RULE_DLQ, FAILURES)} <= set(cloud.alarms_fired()))
    assert messages(cloud) == {RULE_DLQ: 1, FAILURES: 1}
    told = {name.removeprefix("ProspectUploader-") for name in cloud.alarms_fired()}
    assert {"intake-rule-sent-to-dlq", "intake-errors"} <= told


def test_dlq_alarm_a29(cloud: LocalCloud) -> None:
    """On a queue that was never used: SQS has published nothing of it."""
    url, alarm = queue_url(cloud, "finish-failures"), "finish-failures-depth"
    (subscription,) = cloud.client("sns").list_subscriptions_by_topic(TopicArn=cloud.outputs["AlertsTopicArn"])[
        "Subscriptions"
    ]
    assert subscription["SubscriptionArn"].startswith("arn:")
    sqs = cloud.client("sqs")
    states = [cloud.alarms()[f"ProspectUploader-{alarm}"]]
    for time in (1, 2):
        sqs.send_message(QueueUrl=url, MessageBody="{}")
        wait_for(lambda: notices(cloud, alarm)["ALARM"] == time)  # noqa: B023 -- waited for before the next
        states.append(cloud.alarms()[f"ProspectUploader-{alarm}"])
        (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        # The first OK is that of the deployment.
        wait_for(lambda: notices(cloud, alarm)["OK"] == 1 + time)  # noqa: B023
    assert states == ["OK", "ALARM", "ALARM"]
    assert cloud.alarms_fired()[f"ProspectUploader-{alarm}"] == 2
