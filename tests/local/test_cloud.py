"""`LocalCloud` with the project's own stacks: deployed, used, reported, ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from local import cloud as cloud_module
from local.cloud import STAGES, LocalCloud
from local.errors import LocalCloudError
from local.group import members
from local.options import LocalCloudOptions
from local.synth import SYNTH_LOG
from tests.local.toy import wait_for

QUEUES = {
    "intake-rule-dlq",
    "intake-failures",
    "classify-subscriber-dlq",
    "classify-dlq",
    "finish-rule-dlq",
    "finish-failures",
}


@pytest.fixture(scope="module")
def stages() -> list[str]:
    return []


@pytest.fixture(scope="module")
def cloud(stages: list[str]) -> Iterator[LocalCloud]:
    with LocalCloud(progress=stages.append) as running:
        yield running


def test_it_tells_its_stages_and_has_the_outputs(cloud: LocalCloud, stages: list[str]) -> None:
    assert tuple(stages) == STAGES
    for name in ("UploadsBucketName", "ProspectsTableName", "IdempotencyTableName", "EventBusArn", "AlertsTopicArn"):
        assert cloud.outputs[name]
    assert cloud.dead_letters() == dict.fromkeys(QUEUES, 0)


def test_the_emulator_keeps_what_is_deployed(cloud: LocalCloud) -> None:
    assert cloud.dropped == ()


def test_every_alarm_comes_to_rest_and_none_has_gone_off(cloud: LocalCloud) -> None:
    wait_for(lambda: set(cloud.alarms().values()) == {"OK"}, deadline_s=60)
    # The schedule was silent while the cloud was deployed, as on AWS.
    assert {name.partition("-")[2] for name in cloud.alarms_fired()} <= {"finish-schedule-silent"}


def test_an_uploaded_file_is_classified_with_one_request_a_row(cloud: LocalCloud) -> None:
    rows = b"".join(b"p%d@x.example,P %d,CEO,wants a demo\n" % (number, number) for number in range(12))
    bucket, table = cloud.outputs["UploadsBucketName"], cloud.outputs["ProspectsTableName"]
    before = cloud.model_requests or 0
    cloud.client("s3").put_object(Bucket=bucket, Key="uploads/a.csv", Body=b"email,name,title,notes\n" + rows)
    items = cloud.resource("dynamodb").Table(table)
    wait_for(
        lambda: [item for item in items.scan()["Items"] if item["sk"] == "META" and item["state"] == "done"],
        deadline_s=60,
    )
    assert (cloud.model_requests, cloud.billed_requests) == (before + 12, before + 12)
    assert cloud.dead_letters() == dict.fromkeys(QUEUES, 0)


def test_a_setting_the_stacks_refuse_is_one_sentence_and_leaves_nothing() -> None:
    cloud = LocalCloud(LocalCloudOptions(context={"max_receives": "0"}))
    started: list[int] = []
    cloud._progress = lambda _: started.append(cloud.process_group) if cloud._group else None
    with pytest.raises(LocalCloudError, match="setting max_receives") as refused:
        cloud.start()
    # Of what the caller gave, no log knows more.
    assert "log" not in str(refused.value)
    assert members(started[0]) == []


def test_what_went_wrong_ends_before_the_log_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(_context: object, *, scratch: Path, group: int) -> Path:
        assert group
        (scratch / SYNTH_LOG).write_text("a traceback")
        raise LocalCloudError("it takes 1 required positional argument: 'first'")

    monkeypatch.setattr(cloud_module, "synthesize", broken)
    monkeypatch.setattr(cloud_module, "KEPT_LOG", tmp_path / "kept.log")
    with pytest.raises(LocalCloudError) as refused:
        LocalCloud().start()
    assert (
        str(refused.value) == f"it takes 1 required positional argument: 'first'. Its log is {tmp_path / 'kept.log'}."
    )
    assert "a traceback" in (tmp_path / "kept.log").read_text()
