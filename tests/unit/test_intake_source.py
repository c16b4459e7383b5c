"""Which events name an upload, and that exactly the version they name is read, whatever it is called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ConnectTimeoutError
from botocore.stub import Stubber
from moto import mock_aws

from functions.intake.source import (
    NULL_VERSION,
    ObjectVersion,
    Source,
    SourceError,
    SourceGone,
    named_object,
    passed_over,
)
from tests.unit.intake_world import BUCKET, created

CANARY = "uploads/canary Jane Doe.csv"


@pytest.fixture
def s3() -> Iterator[Any]:
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
        client.create_bucket(Bucket=BUCKET)
        yield client


def versioned(s3: Any) -> None:
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})


@pytest.mark.parametrize(
    "key", ["uploads/Q4 leads (EU)+new é.csv", "uploads/100%25.csv", "uploads/a+b%20c.csv", "uploads/日本.csv"]
)
def test_the_key_is_used_as_it_is(s3: Any, key: str) -> None:
    versioned(s3)
    version_id = s3.put_object(Bucket=BUCKET, Key=key, Body=b"bytes")["VersionId"]
    named = named_object(json.loads(json.dumps(created(key, 5, version_id))))
    assert named == ObjectVersion(BUCKET, key, version_id, 5)
    assert b"".join(Source(s3).open(named)) == b"bytes"


def test_the_version_that_is_named_is_read_though_a_newer_one_exists(s3: Any) -> None:
    versioned(s3)
    first = s3.put_object(Bucket=BUCKET, Key="uploads/a.csv", Body=b"one")["VersionId"]
    s3.put_object(Bucket=BUCKET, Key="uploads/a.csv", Body=b"second")
    version = ObjectVersion(BUCKET, "uploads/a.csv", first, 3)
    source = Source(s3)
    assert [b"".join(source.open(version)) for _ in range(2)] == [b"one", b"one"]


def test_a_large_object_comes_in_chunks(s3: Any) -> None:
    versioned(s3)
    body = bytes(range(256)) * 4096
    version_id = s3.put_object(Bucket=BUCKET, Key="uploads/a.csv", Body=body)["VersionId"]
    chunks = list(Source(s3).open(ObjectVersion(BUCKET, "uploads/a.csv", version_id, len(body))))
    assert b"".join(chunks) == body
    assert max(map(len, chunks)) <= 128 * 1024


def test_a_version_that_the_event_leaves_out_is_asked_for(s3: Any) -> None:
    versioned(s3)
    version_id = s3.put_object(Bucket=BUCKET, Key="uploads/a.csv", Body=b"bytes")["VersionId"]
    event = created("uploads/a.csv", 5, None)
    del event["detail"]["object"]["size"]
    named = named_object(event)
    assert named is not None
    assert Source(s3).resolve(named) == ObjectVersion(BUCKET, "uploads/a.csv", version_id, 5)


def test_a_bucket_without_versions_has_the_null_version(s3: Any) -> None:
    s3.put_object(Bucket=BUCKET, Key="uploads/a.csv", Body=b"bytes")
    named = named_object(created("uploads/a.csv", 5, None))
    assert named is not None
    resolved = Source(s3).resolve(named)
    assert resolved.version_id == NULL_VERSION
    assert b"".join(Source(s3).open(resolved)) == b"bytes"


def test_what_the_event_says_is_not_asked_again(s3: Any) -> None:
    version = ObjectVersion(BUCKET, "uploads/none.csv", "v", 5)
    assert Source(s3).resolve(version) is version


@pytest.mark.parametrize(
    ("key", "size", "reason"),
    [
        ("uploads/a.csv", 5, ""),
        ("uploads/A.CSV", 0, ""),
        ("uploads/deep/er/a.csv", 5, ""),
        ("uploads/a.xlsx", 5, ""),
        ("uploads/", 0, "folder_marker"),
        ("uploads/2026/", 0, "folder_marker"),
        ("uploads/x.csv/", 0, "folder_marker"),
        ("uploads/2026_$folder$", 0, "empty_object"),
        ("uploads/.keep", 0, "empty_object"),
        ("results/a.csv", 5, "not_an_upload"),
        ("Uploads/a.csv", 5, "not_an_upload"),
        ("uploads-old/a.csv", 5, "not_an_upload"),
    ],
)
def test_markers_and_other_objects_are_passed_over(key: str, size: int, reason: str) -> None:
    assert passed_over(ObjectVersion(BUCKET, key, "v", size)) == reason


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"Records": [{"eventSource": "aws:s3", "s3": {"object": {"key": "uploads/Q4+leads.csv"}}}]},
        {"Service": "Amazon S3", "Event": "s3:TestEvent"},
        {"source": "aws.s3", "detail-type": "Object Deleted", "detail": {}},
        {
            "source": "other",
            "detail-type": "Object Created",
            "detail": {"bucket": {"name": "b"}, "object": {"key": "k"}},
        },
        {"source": "aws.s3", "detail-type": "Object Created"},
        {"source": "aws.s3", "detail-type": "Object Created", "detail": {"bucket": "b", "object": {"key": "k"}}},
        {"source": "aws.s3", "detail-type": "Object Created", "detail": {"bucket": {"name": "b"}, "object": []}},
    ],
)
def test_other_events_name_no_object(event: dict[str, Any]) -> None:
    assert named_object(event) is None


def test_an_object_that_is_gone_is_said_to_be_gone(s3: Any) -> None:
    versioned(s3)
    source = Source(s3)
    with pytest.raises(SourceGone):
        source.resolve(ObjectVersion(BUCKET, CANARY, "", 5))
    with pytest.raises(SourceGone):
        list(source.open(ObjectVersion(BUCKET, CANARY, "nosuch", 5)))


def test_an_error_of_s3_is_reported_by_its_code_because_its_message_names_the_file(s3: Any) -> None:
    version = ObjectVersion(BUCKET, CANARY, "v", 5)
    with Stubber(s3) as stub:
        stub.add_client_error("get_object", "AccessDenied", f"not authorized on arn:aws:s3:::{BUCKET}/{CANARY}")
        with pytest.raises(SourceError, match="AccessDenied") as caught:
            list(Source(s3).open(version))
    assert "canary" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_an_error_of_the_connection_is_reported_without_its_address(monkeypatch: pytest.MonkeyPatch, s3: Any) -> None:
    def late(**_: Any) -> None:
        raise ConnectTimeoutError(endpoint_url=f"https://s3/{CANARY}")

    monkeypatch.setattr(s3, "get_object", late)
    with pytest.raises(SourceError, match="ConnectTimeoutError") as caught:
        list(Source(s3).open(ObjectVersion(BUCKET, CANARY, "v", 5)))
    assert "canary" not in str(caught.value)
    assert caught.value.__context__ is None


def test_an_object_is_named_in_logs_by_a_digest_of_its_version() -> None:
    versions = [ObjectVersion(BUCKET, CANARY, v, 5) for v in ("1", "1", "2")]
    references = [version.reference for version in versions]
    assert references[0] == references[1] != references[2]
    assert all(len(reference) == 12 for reference in references)
