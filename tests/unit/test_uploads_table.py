"""The `prospects` table on moto: conditional writes, exact counts, order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import boto3
import pytest
from moto import mock_aws

from functions.uploads.budget import Ceilings
from functions.uploads.model import Announcement, Counts, Finished, OpenUpload, RowCounts, RowItem, Upload
from functions.uploads.sweeps import SweepsTable
from functions.uploads.table import UploadsTable

TOLD = Announcement(kind="finished", serial="finished-1")


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
                {"AttributeName": "attention", "AttributeType": "S"},
            ],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "attention",
                    "KeySchema": [
                        {"AttributeName": "attention", "KeyType": "HASH"},
                        {"AttributeName": "sk", "KeyType": "RANGE"},
                    ],
                    "Projection": {
                        "ProjectionType": "INCLUDE",
                        "NonKeyAttributes": ["upload_id", "key", "outcome", "attempt"],
                    },
                }
            ],
            BillingMode="PAY_PER_REQUEST",
        )


@pytest.fixture
def uploads(table: Any) -> UploadsTable:
    return UploadsTable(table)


@pytest.fixture
def sweeps(table: Any) -> SweepsTable:
    return SweepsTable(table)


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
    assert uploads.admit(an_upload()) == "admitted"
    assert uploads.get_upload("u-1") == an_upload()
    found = uploads.get_object("uploads/a.csv", "v1")
    assert found is not None
    assert (found.upload_id, found.first, found.attempts) == ("u-1", True, 1)
    assert [o.upload_id for o in uploads.open_uploads()] == ["u-1"]


def test_the_second_admission_of_an_upload_changes_nothing(uploads: UploadsTable) -> None:
    uploads.begin_object("uploads/a.csv", "v1", 10)
    uploads.begin_object("uploads/a.csv", "v2", 10)
    assert uploads.admit(an_upload()) == "admitted"
    assert uploads.admit(an_upload(version_id="v2", created_at=99)) == "exists"
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
    assert uploads.admit(an_upload()) == "admitted"
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
    assert uploads.admit(an_upload()) == "exists"


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
    notice = Announcement(kind="finished", serial="finished-1", subject="s", text="t")
    assert uploads.finish(running, finished("results/x.csv"), notice)
    assert not uploads.finish(running, finished("results/y.csv"), notice)
    done = uploads.get_upload("u-1")
    assert done is not None
    assert (done.state, done.rows.classified, done.results_key, done.revision) == ("done", 3, "results/x.csv", 1)
    assert [o.announcement for o in uploads.open_uploads()] == [notice]
    uploads.announced("u-1", notice.model_copy(update={"serial": "finished-2"}))
    assert list(uploads.open_uploads()) != []
    uploads.announced("u-1", notice)
    assert list(uploads.open_uploads()) == []
    uploads.announced("u-1", notice)


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
    uploads.announced("u-9", Announcement(kind="paused", serial="paused-0"))
    assert list(uploads.open_uploads()) == []


def finished(key: str) -> Finished:
    return Finished(rows=RowCounts(classified=3), results_key=key, finished_at=50)


# --- ceilings, pauses and reopening ---------------------------------------------------------------------------------

DAY = "2026-11-29"
TOMORROW = "2026-11-30"
CEILINGS = Ceilings(upload_microusd=100, day_microusd=100)


def admitted(uploads: UploadsTable, upload_id: str, worst: int, **changes: Any) -> str:
    key = f"uploads/{upload_id}.csv"
    uploads.begin_object(key, "v1", 10)
    running = {"budget_day": DAY, "reserved_microusd": worst}
    upload = an_upload(upload_id, object_key=key, worst_case_microusd=worst, **(running | changes))
    return uploads.admit(upload, CEILINGS)


def upload_of(uploads: UploadsTable, upload_id: str) -> Upload:
    found = uploads.get_upload(upload_id)
    assert found is not None
    return found


def test_the_days_ceiling_is_filled_to_the_last_micro_dollar_and_never_overshot(uploads: UploadsTable) -> None:
    assert admitted(uploads, "u-1", 60) == "admitted"
    assert admitted(uploads, "u-2", 41) == "over_budget"
    assert uploads.get_upload("u-2") is None
    assert admitted(uploads, "u-3", 40) == "admitted"
    assert uploads.get_budget(DAY).committed_microusd == 100
    assert admitted(uploads, "u-3", 40) == "exists"
    assert uploads.get_budget(DAY).committed_microusd == 100


def test_one_upload_over_the_whole_ceiling_is_refused_on_an_empty_day(uploads: UploadsTable) -> None:
    assert admitted(uploads, "u-1", 101) == "over_budget"
    assert admitted(uploads, "u-1", 100) == "admitted"


def test_an_upload_that_waits_reserves_nothing_until_it_is_approved_once(uploads: UploadsTable) -> None:
    waiting = {"state": "needs_approval", "budget_day": "", "reserved_microusd": 0}
    assert admitted(uploads, "u-1", 500, **waiting) == "admitted"
    assert uploads.get_budget(DAY).committed_microusd == 0
    assert [o.announcement for o in uploads.open_uploads()] == [
        Announcement(kind="needs_approval", serial="needs_approval-0")
    ]
    seen = upload_of(uploads, "u-1")
    assert uploads.take_publishing("u-1", 1, now=10, until=20) is None
    assert uploads.approve(seen, actor="ada", day=DAY)
    assert not uploads.approve(seen, actor="ada", day=DAY)
    approved = upload_of(uploads, "u-1")
    assert (approved.state, approved.reserved_microusd, approved.budget_day) == ("running", 500, DAY)
    assert uploads.get_budget(DAY).committed_microusd == 500
    assert uploads.take_publishing("u-1", 1, now=10, until=20)


def test_a_finished_upload_gives_back_what_it_did_not_spend(uploads: UploadsTable) -> None:
    admitted(uploads, "u-1", 60)
    ended = Finished(rows=RowCounts(classified=3, cost_microusd=7), results_key="k", finished_at=50)
    assert uploads.finish(upload_of(uploads, "u-1"), ended, TOLD)
    budget = uploads.get_budget(DAY)
    assert (budget.committed_microusd, budget.spent_microusd) == (7, 7)
    assert not uploads.finish(upload_of(uploads, "u-1"), ended, TOLD)
    assert uploads.get_budget(DAY) == budget


def test_what_may_have_been_billed_stays_committed_and_is_committed_once(uploads: UploadsTable) -> None:
    admitted(uploads, "u-1", 60)
    in_doubt = RowCounts(classified=2, unknown=1, cost_microusd=7, in_doubt_microusd=20)
    assert uploads.finish(upload_of(uploads, "u-1"), Finished(rows=in_doubt, results_key="k", finished_at=50), TOLD)
    assert (uploads.get_budget(DAY).committed_microusd, uploads.get_budget(DAY).spent_microusd) == (27, 7)
    uploads.announced("u-1", TOLD)
    assert uploads.reopen(upload_of(uploads, "u-1"), actor="a", day=TOMORROW, reserve_microusd=0, publish=False)
    proven = Finished(rows=RowCounts(classified=3, cost_microusd=12), results_key="k", finished_at=51)
    assert uploads.finish(upload_of(uploads, "u-1"), proven, Announcement(kind="finished", serial="finished-2"))
    assert uploads.get_budget(DAY).committed_microusd == 27
    assert (uploads.get_budget(TOMORROW).committed_microusd, uploads.get_budget(TOMORROW).spent_microusd) == (5, 5)


def test_many_workers_pause_an_upload_once(uploads: UploadsTable) -> None:
    admitted(uploads, "u-1", 60)
    seen = upload_of(uploads, "u-1")
    assert uploads.pause(seen, "llm_key_refused")
    assert not uploads.pause(seen, "llm_key_refused")
    paused = upload_of(uploads, "u-1")
    assert (paused.state, paused.pause_reason) == ("paused", "llm_key_refused")
    (opened,) = uploads.open_uploads()
    assert opened.announcement == Announcement(kind="paused", serial="paused-0")
    uploads.announced("u-1", opened.announcement)
    assert [o.announcement for o in uploads.open_uploads()] == [None]


def test_a_pause_for_a_reason_older_than_the_resumption_is_not_written(uploads: UploadsTable) -> None:
    admitted(uploads, "u-1", 60)
    before = upload_of(uploads, "u-1")
    assert uploads.pause(before, "llm_key_refused")
    assert uploads.resume(upload_of(uploads, "u-1"), actor="ada")
    assert not uploads.pause(before, "llm_key_refused")
    running = upload_of(uploads, "u-1")
    assert (running.state, running.generation, running.checkpoint, running.published) == ("running", 2, 0, False)
    assert not uploads.resume(running, actor="ada")


def test_a_paused_upload_is_neither_published_nor_finished(uploads: UploadsTable) -> None:
    admitted(uploads, "u-1", 60)
    seen = upload_of(uploads, "u-1")
    uploads.pause(seen, "r")
    assert uploads.advance_checkpoint("u-1", 1, 5) is None
    assert uploads.take_publishing("u-1", 1, now=10, until=20) is None
    assert not uploads.finish(seen, finished("k"), TOLD)


def test_a_reopened_row_counts_as_open_until_a_later_outcome_of_its_key(uploads: UploadsTable) -> None:
    failed = a_row(2, outcome="failed", reason="llm_overloaded", retryable=True, attempt=5)
    assert all(map(uploads.put_row, (a_row(1), failed)))
    assert not uploads.reopen_row(a_row(1))
    assert uploads.reopen_row(failed)
    assert (uploads.count_rows("u-1"), uploads.get_row("u-1", 2)) == (1, None)
    assert [row.row_number for row in uploads.iter_rows("u-1")] == [1]
    assert uploads.put_row(a_row(2, label="warm", attempt=6))
    assert not uploads.put_row(a_row(2, label="cold", attempt=7))
    assert (uploads.count_rows("u-1"), [row.label for row in uploads.iter_rows("u-1")]) == (2, ["hot", "warm"])


def test_only_an_outcome_that_could_still_change_is_replaced_and_by_one_of_two_ticks(
    uploads: UploadsTable, sweeps: SweepsTable
) -> None:
    uploads.put_row(a_row(1))
    uploads.put_row(a_row(2, outcome="unknown", reason="r", attempt=1))
    [seen], following = sweeps.attention_page({})
    assert (following, seen.upload_id, seen.row_number, seen.key) == ({}, "u-1", 2, "k")
    assert uploads.replace_row(a_row(2, attempt=1), seen)
    assert not uploads.replace_row(a_row(2, label="cold", attempt=1), seen)
    assert sweeps.attention_page({}) == ([], {})


def test_a_finished_upload_is_reopened_once_with_a_reservation_of_its_own(uploads: UploadsTable) -> None:
    admitted(uploads, "u-1", 60)
    ended = Finished(rows=RowCounts(classified=3, cost_microusd=7), results_key="k", finished_at=50, expires_at=99)
    uploads.finish(upload_of(uploads, "u-1"), ended, TOLD)
    done = upload_of(uploads, "u-1")
    reopen = partial(uploads.reopen, done, actor="ada", day=TOMORROW, reserve_microusd=20, publish=True)
    assert not reopen()
    uploads.announced("u-1", TOLD)
    assert [reopen(), reopen()] == [True, False]
    again = upload_of(uploads, "u-1")
    assert (again.state, again.generation, again.published, again.expires_at) == ("running", 2, False, None)
    assert uploads.get_budget(TOMORROW).committed_microusd == 20
    more = ended.model_copy(update={"rows": RowCounts(classified=3, cost_microusd=12)})
    assert uploads.finish(again, more, Announcement(kind="finished", serial="finished-2"))
    second = uploads.get_budget(TOMORROW)
    assert (second.committed_microusd, second.spent_microusd) == (5, 5)


def test_the_sweeps_passes_are_bounded_until_an_operator_orders_more(uploads: UploadsTable) -> None:
    admitted(uploads, "u-1", 60)
    upload = upload_of(uploads, "u-1")
    assert uploads.begin_sweep_pass(upload, max_sweeps=2) is None
    uploads.leave_publishing("u-1", 1, published=True)
    for generation in (2, 3):
        swept = uploads.begin_sweep_pass(upload_of(uploads, "u-1"), max_sweeps=2)
        assert getattr(swept, "generation", None) == generation
    assert uploads.begin_sweep_pass(upload_of(uploads, "u-1"), max_sweeps=2) is None
    assert uploads.begin_sweep_pass(upload, max_sweeps=2) is None
