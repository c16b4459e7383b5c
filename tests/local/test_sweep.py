"""What gets lost on the way is found again: messages, handlers and events go missing, and every row still ends once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from cli.reports import FileReport
from local.group import members
from tests.local.main_job import MainJob, main_job, prospects
from tests.local.toy import wait_for

SLOW = [{"when": {"contains": "answers slowly"}, "then": {"delay_s": 2}}]
CONTEXT = {
    "quiet_s": "1",
    "stall_s": "11",
    "object_sweep_s": "1",
    "object_grace_s": "1",
    "model_deadline_s": "3",
    "classify_timeout_s": "8",
}


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MainJob]:
    with main_job(tmp_path_factory.mktemp("sweep"), SLOW, **CONTEXT) as running:
        yield running


@contextmanager
def running(job: MainJob, content: str, name: str) -> Iterator[Future[tuple[FileReport, int]]]:
    """A file on its way, while something goes wrong."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(job.counted, content, name)


@contextmanager
def held_back(job: MainJob) -> Iterator[None]:
    """Nobody reads the queue of classify meanwhile."""
    functions = job.cloud.client("lambda")
    name = job.cloud.outputs["ClassifyFunctionName"]
    [mapping] = functions.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    yield
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)


def waiting(job: MainJob) -> int:
    attributes = job.cloud.client("sqs").get_queue_attributes(
        QueueUrl=job.cloud.outputs["ClassifyQueueUrl"], AttributeNames=["ApproximateNumberOfMessages"]
    )
    return int(attributes["Attributes"]["ApproximateNumberOfMessages"])


def assert_complete(report: FileReport, requests: int, rows: int) -> None:
    assert (report.state, report.ended.classified, requests) == ("done", rows, rows)
    assert [row.row for row in report.rows] == list(range(1, rows + 1))


def upload_of(job: MainJob, report: FileReport) -> Any:
    table = job.cloud.resource("dynamodb").Table(job.cloud.outputs["ProspectsTableName"])
    return table.get_item(Key={"pk": f"{report.upload_id}#00", "sk": "META"})["Item"]


def test_rows_whose_messages_are_purged_are_published_again_and_paid_once(job: MainJob) -> None:
    with running(job, prospects(range(30), group="purged"), "purged.csv") as ending:
        with held_back(job):
            wait_for(lambda: waiting(job) == 30)
            job.cloud.client("sqs").purge_queue(QueueUrl=job.cloud.outputs["ClassifyQueueUrl"])
            wait_for(lambda: waiting(job) == 30)
            assert not ending.done()
        report, requests = ending.result()
    assert_complete(report, requests, 30)
    assert upload_of(job, report)["sweeps"] == 1


def test_one_row_whose_message_is_lost_is_found(job: MainJob) -> None:
    sqs, url = job.cloud.client("sqs"), job.cloud.outputs["ClassifyQueueUrl"]
    with running(job, prospects(range(12), group="one"), "one.csv") as ending:
        with held_back(job):
            wait_for(lambda: waiting(job) == 12)
            [message] = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=1)["Messages"]
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        report, requests = ending.result()
    assert_complete(report, requests, 12)


def test_a_file_whose_event_is_lost_is_found(job: MainJob) -> None:
    events, s3 = job.cloud.client("events"), job.cloud.client("s3")
    bucket = job.cloud.outputs["UploadsBucketName"]
    [rule] = [each["Name"] for each in events.list_rules()["Rules"] if "Object Created" in each.get("EventPattern", "")]
    events.disable_rule(Name=rule)
    with running(job, prospects(range(3), group="lost"), "lost.csv") as ending:
        wait_for(lambda: s3.list_objects_v2(Bucket=bucket, Prefix="uploads/lost.csv").get("Contents"))
        events.enable_rule(Name=rule)
        report, requests = ending.result()
    assert_complete(report, requests, 3)


def test_rows_whose_handlers_are_killed_end_as_unknown_or_classified_and_none_is_paid_twice(job: MainJob) -> None:
    before = job.requests
    with running(job, prospects(range(8), notes="answers slowly", group="killed"), "killed.csv") as ending:
        wait_for(lambda: job.requests > before)
        for pid in set(members(job.cloud.process_group)) - {job.cloud.process_group}:
            os.kill(pid, signal.SIGKILL)
        report, requests = ending.result()
    assert report.state == "done"
    assert report.ended.classified + report.ended.unknown == 8
    assert report.ended.unknown > 0
    assert requests <= 8
    assert [row.row for row in report.rows] == list(range(1, 9))
    assert {row.reason for row in report.rows if row.outcome == "unknown"} == {"lease_expired_outcome_unknown"}
