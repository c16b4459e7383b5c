"""Results reach S3 whole, in parts when they are large, under a name that S3 takes."""

from __future__ import annotations

import csv
import io
import logging
from collections.abc import Iterator

import pytest
from moto import mock_aws

from functions.finish.storage import PART_BYTES, ResultsNotWrittenError, put_results, results_key
from tests.unit.finish_world import BUCKET, World, a_row


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield World()


def stored(world: World, key: str) -> bytes:
    return bytes(world.s3.get_object(Bucket=BUCKET, Key=key)["Body"].read())


@pytest.mark.parametrize("size", [0, 1, PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES + 5])
def test_what_was_streamed_is_what_is_stored(world: World, size: int) -> None:
    content = bytes(n % 251 for n in range(997)) * (size // 997 + 1)
    chunks = (content[start : min(start + 100_003, size)] for start in range(0, size, 100_003))
    put_results(world.s3, BUCKET, "results/x.csv", chunks, {"revision": "3"})
    assert stored(world, "results/x.csv") == content[:size]
    head = world.s3.head_object(Bucket=BUCKET, Key="results/x.csv")
    assert head["Metadata"] == {"revision": "3"}
    assert head["ContentType"] == "text/csv; charset=utf-8"


def test_a_stream_that_breaks_leaves_no_object_and_no_parts(world: World) -> None:
    def breaking() -> Iterator[bytes]:
        yield b"x" * (2 * PART_BYTES + 1)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        put_results(world.s3, BUCKET, "results/x.csv", breaking(), {})
    assert "Contents" not in world.s3.list_objects_v2(Bucket=BUCKET)
    assert "Uploads" not in world.s3.list_multipart_uploads(Bucket=BUCKET)


def test_an_error_of_s3_keeps_only_its_code(world: World) -> None:
    with pytest.raises(ResultsNotWrittenError, match="NoSuchBucket") as caught:
        put_results(world.s3, "no-such-bucket", "results/secret name.csv", [b"x"], {})
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("object_key", "name"),
    [
        ("uploads/Q4 leads (EU)+new é.csv", "Q4 leads (EU)+new é.csv"),
        ("uploads/2026/leads.CSV", "leads.csv"),
        ("uploads/leads.txt", "leads.txt.csv"),
        ("uploads/.csv", "results.csv"),
        ("uploads/" + "é" * 500 + ".csv", "é" * 125 + ".csv"),
    ],
)
def test_results_are_named_after_the_file(world: World, object_key: str, name: str) -> None:
    upload = world.admit(key=object_key)
    assert results_key(upload) == f"results/u-1/{name}"


def test_results_hold_every_record_in_order_and_logs_hold_none(world: World, caplog: pytest.LogCaptureFixture) -> None:
    records = 200
    notes = "x" * 1_000
    body = "name,email,notes\n" + "".join(f"N {n},n{n}@example.com,{notes}\n" for n in range(1, records + 1))
    world.admit(body.encode())
    world.end_rows(*(a_row(n, request_id="r" * 900) for n in range(1, records + 1)))
    with caplog.at_level(logging.DEBUG, logger="finish"):
        assert world.tick() == {"finished": 1}
    _, *lines = list(csv.reader(io.StringIO(world.results(), newline="")))
    assert [line[1] for line in lines] == [f"n{n}@example.com" for n in range(1, records + 1)]
    assert "u-1" in str([vars(record) for record in caplog.records])
    assert "@example.com" not in str([vars(record) for record in caplog.records])
