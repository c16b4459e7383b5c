"""The `prospects` table on moto: conditional writes, exact counts, order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from functions.uploads.model import Announcement, Counts, Finished, OpenUpload, RowCounts, RowItem, Upload
from functions.uploads.table import UploadsTable


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield boto3.resource("dynamodb", region_name="eu-west-1").create_table(
            TableName="prospects",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[
                {"AttributeName": "pk", "AttributeType": "S"},
                {"AttributeName": "sk", "AttributeType": "S"},
            ],
            BillingMode="PAY_PER_REQUEST",
        )


@pytest.fixture
def uploads(table: Any) -> UploadsTable:
    return UploadsTable(table)


def an_upload(upload_id: str = "u-1", version_id: str = "v1", **changes: Any) -> Upload:
    values: dict[str, Any] = {
        "upload_id": upload_id,
        "state": "running",
        "bucket": "b",
        "object_key": "uploads/a.csv",
        "version_id": version_id,
        "sha256": "00",
        "bytes": 10,
        "created_at": 1,
        "task": "{}",
        "prompt_version": "t@1",
        "columns": ("email",),
        "limits": {"max_records": 10},
        "encoding": "utf-8",
        "encoding_guessed": False,
        "delimiter": ",",
        "header": ("email",),
        "counts": Counts(records=3, valid=3),
        "worst_case_microusd": 5,
    }
    return Upload(**(values | changes))


def a_row(number: int, **changes: Any) -> RowItem:
    values: dict[str, Any] = {"upload_id": "u-1", "row_number": number, "line": number + 1, "key": "k"}
    return RowItem(**(values | {"outcome": "classified", "label": "hot"} | changes))


def test_an_admitted_upload_is_read_back_as_it_was_written(uploads: UploadsTable) -> None:
    uploads.begin_object("uploads/a.csv", "v1", 10)
    assert uploads.admit(an_upload())
    assert uploads.get_upload("u-1") == an_upload()
    found = uploads.get_object("uploads/a.csv", "v1")
    assert found is not None
    assert (found.upload_id, found.first, found.attempts) == ("u-1", True, 1)
    assert [o.upload_id for o in uploads.open_uploads()] == ["u-1"]


def test_the_second_admission_of_an_upload_changes_nothing(uploads: UploadsTable) -> None:
    uploads.begin_object("uploads/a.csv", "v1", 10)
    uploads.begin_object("uploads/a.csv", "v2", 10)
    assert uploads.admit(an_upload())
    assert not uploads.admit(an_upload(version_id="v2", created_at=99))
    assert uploads.get_upload("u-1") == an_upload()
    second = uploads.get_object("uploads/a.csv", "v2")
    assert second is not None
    assert not second.settled
    assert uploads.join_object("uploads/a.csv", "v2", "u-1")


def test_an_admission_that_meets_another_transaction_is_tried_again(
    table: Any, uploads: UploadsTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = table.meta.client
    conflict = client.exceptions.TransactionCanceledException(
        {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": [{"Code": "TransactionConflict"}]},
        "TransactWriteItems",
    )
    answers = [conflict, conflict]
    real = client.transact_write_items

    def contended(**request: Any) -> Any:
        if answers:
            raise answers.pop()
        return real(**request)

    monkeypatch.setattr(client, "transact_write_items", contended)
    waits: list[float] = []
    uploads = UploadsTable(table, sleep=waits.append)
    uploads.begin_object("uploads/a.csv", "v1", 10)
    assert uploads.admit(an_upload())
    assert len(waits) == 2
    answers.extend([conflict] * 99)
    with pytest.raises(client.exceptions.TransactionCanceledException):
        uploads.admit(an_upload("u-2"))


def test_a_settled_object_version_counts_no_further_attempt_and_keeps_its_end(uploads: UploadsTable) -> None:
    assert uploads.begin_object("uploads/a.csv", "v1", 10).attempts == 1
    assert uploads.begin_object("uploads/a.csv", "v1", 10).attempts == 2
    assert uploads.refuse_object("uploads/a.csv", "v1", "not_csv", "This is a PDF.")
    again = uploads.begin_object("uploads/a.csv", "v1", 10)
    assert (again.attempts, again.refusal, again.settled) == (2, "not_csv", True)
    assert not uploads.join_object("uploads/a.csv", "v1", "u-1")
    assert not uploads.admit(an_upload())


def test_only_one_publisher_is_alive_and_its_checkpoint_never_moves_back(uploads: UploadsTable) -> None:
    uploads.begin_object("uploads/a.csv", "v1", 10)
    uploads.admit(an_upload())
    assert uploads.take_publishing("u-1", 1, now=100, until=160)
    assert uploads.take_publishing("u-1", 1, now=159, until=300) is None
    assert uploads.advance_checkpoint("u-1", 1, 20)
    assert uploads.advance_checkpoint("u-1", 1, 10) is None
    assert uploads.advance_checkpoint("u-1", 2, 30) is None
    taken_over = uploads.take_publishing("u-1", 1, now=161, until=300)
    assert taken_over is not None
    assert taken_over.checkpoint == 20
    assert uploads.leave_publishing("u-1", 1, published=True)
    assert uploads.take_publishing("u-1", 1, now=999, until=1999) is None


def test_a_rows_item_is_written_once(uploads: UploadsTable) -> None:
    assert uploads.put_row(a_row(1))
    assert not uploads.put_row(a_row(1, label="cold"))
    kept = uploads.get_row("u-1", 1)
    assert kept is not None
    assert kept.label == "hot"


def test_rows_are_counted_over_every_page_and_read_in_row_order(uploads: UploadsTable, table: Any) -> None:
    numbers = list(range(1, 403))
    for number in reversed(numbers):
        uploads.put_row(a_row(number, reason="x" * 40_000 if number % 16 == 0 else ""))
    uploads.begin_object("uploads/a.csv", "v1", 10)
    uploads.admit(an_upload())
    assert uploads.count_rows("u-1") == len(numbers)
    assert [row.row_number for row in uploads.iter_rows("u-1")] == numbers


def test_only_rows_that_may_still_change_are_in_the_attention_index(uploads: UploadsTable, table: Any) -> None:
    uploads.put_row(a_row(1))
    uploads.put_row(a_row(2, outcome="unknown", reason="r"))
    uploads.put_row(a_row(3, outcome="failed", reason="r", retryable=True))
    uploads.put_row(a_row(4, outcome="failed", reason="r"))
    marked = {int(item["row_number"]) for item in table.scan()["Items"] if "attention" in item}
    assert marked == {2, 3}


def test_what_is_not_unknown_expires_after_its_uploads_meta(table: Any) -> None:
    uploads = UploadsTable(table, retention_days=400, clock=lambda: 1_000)
    uploads.begin_object("uploads/a.csv", "v1", 10)
    uploads.put_row(a_row(1, finished_at=1_000))
    uploads.put_row(a_row(2, finished_at=1_000, outcome="unknown", reason="r"))
    expiries = {item["pk"]: item.get("expires_at") for item in table.scan()["Items"]}
    assert expiries == {"OBJECT#uploads/a.csv": 1_000 + 430 * 86_400, "u-1#01": 1_000 + 430 * 86_400, "u-1#02": None}


def test_an_upload_finishes_once_and_stays_open_until_it_is_announced(uploads: UploadsTable) -> None:
    uploads.begin_object("uploads/a.csv", "v1", 10)
    uploads.admit(an_upload())
    running = uploads.get_upload("u-1")
    assert running is not None
    notice = Announcement(revision=1, subject="s", text="t")
    assert uploads.finish(running, finished("results/x.csv"), notice)
    assert not uploads.finish(running, finished("results/y.csv"), notice)
    done = uploads.get_upload("u-1")
    assert done is not None
    assert (done.state, done.rows.classified, done.results_key, done.revision) == ("done", 3, "results/x.csv", 1)
    assert [o.announcement for o in uploads.open_uploads()] == [notice]
    uploads.announced("u-1", 2)
    assert list(uploads.open_uploads()) != []
    uploads.announced("u-1", 1)
    assert list(uploads.open_uploads()) == []
    uploads.announced("u-1", 1)


def test_one_tick_at_a_time_looks_at_an_upload(uploads: UploadsTable) -> None:
    uploads.begin_object("uploads/a.csv", "v1", 10)
    uploads.admit(an_upload())
    (seen,) = uploads.open_uploads()
    assert uploads.claim_look(seen, 100)
    assert not uploads.claim_look(seen, 100)
    assert uploads.look_again("u-1", 100, 50)
    assert not uploads.look_again("u-1", 100, 70)
    assert [o.next_look_at for o in uploads.open_uploads()] == [50]


def test_closing_or_looking_at_what_is_not_open_creates_nothing(uploads: UploadsTable) -> None:
    assert not uploads.claim_look(OpenUpload(upload_id="u-9"), 5)
    uploads.announced("u-9", 1)
    assert list(uploads.open_uploads()) == []


def finished(key: str) -> Finished:
    return Finished(rows=RowCounts(classified=3), results_key=key, finished_at=50)
