"""The main job end to end: real stacks, real handlers, in the numbers of the promise."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from functions.uploads.model import Counts
from tests.local.main_job import HEADER, MainJob, main_job, prospects

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "cases" / "data"


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MainJob]:
    with main_job(tmp_path_factory.mktemp("job")) as running:
        yield running


def results_of(path: str | None) -> list[dict[str, str]]:
    assert path is not None
    with Path(path).open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_example_is_classified_with_one_request_a_prospect_and_costs_nothing_again(job: MainJob) -> None:
    example = ROOT / "examples" / "prospects.csv"
    report, requests = job.counted(example)
    assert report.counts == Counts(records=40, valid=31, rejected=5, duplicates=3, blank=1)
    assert (report.ended.classified, report.ended.known, requests) == (31, 0, 31)
    assert report.ended.cost_microusd > 0
    again, further = job.counted(example)
    assert (again.upload_id, again.ended.known, again.ended.cost_microusd, further) == (report.upload_id, 31, 0, 0)
    assert again.rows == report.rows
    results = results_of(report.results_csv)
    assert len(results) == 40 - report.counts.blank
    assert [row["label"] for row in results if row["label"]].count("hot") == (report.labels or {})["hot"] + 1


def test_the_same_bytes_under_another_name_cost_nothing(job: MainJob) -> None:
    first, requests = job.counted(CASES / "A15.csv")
    assert (first.counts.valid, first.counts.duplicates, requests) == (2, 1, 2)
    other, further = job.counted((CASES / "A15.csv").read_bytes(), "renamed.csv")
    assert (other.upload_id, other.rows, further) == (first.upload_id, first.rows, 0)


def test_a_corrected_file_pays_for_its_changed_rows_only(job: MainJob) -> None:
    text = prospects(range(10), group="corrected")
    _, requests = job.counted(text)
    fixed, further = job.counted(text.replace("wants a demo 3", "wants a quote 3"))
    assert (requests, further) == (10, 1)
    assert (fixed.ended.known, fixed.ended.classified) == (9, 10)
    assert fixed.ended.cost_microusd > 0


@pytest.mark.parametrize("name", ["Q4 leads (EU)+new é.csv", "a%2Bb&c=d.csv", "UPPER.CSV"])
def test_an_object_is_found_under_exactly_its_name(job: MainJob, name: str) -> None:
    report, requests = job.counted(prospects(range(2), group=f"n{len(name)}x"), name)
    assert (report.state, report.ended.classified, requests) == ("done", 2, 2)


def test_two_versions_of_one_object_are_two_uploads(job: MainJob) -> None:
    first = job.run(prospects(range(2), group="v1"), "same.csv")
    second = job.run(prospects(range(3), group="v2"), "same.csv")
    assert first.upload_id != second.upload_id
    assert (first.ended.classified, second.ended.classified) == (2, 3)


def test_folder_markers_and_empty_objects_start_nothing(job: MainJob) -> None:
    s3, bucket = job.cloud.client("s3"), job.cloud.outputs["UploadsBucketName"]
    markers = ["uploads/2026/", "uploads/marker"]
    for key in markers:
        s3.put_object(Bucket=bucket, Key=key, Body=b"")
    # A file behind the markers is done, so their events were handled too.
    assert job.run(prospects(range(1), group="marker")).state == "done"
    table = job.cloud.resource("dynamodb").Table(job.cloud.outputs["ProspectsTableName"])
    assert [item for item in table.scan()["Items"] if item["pk"] in {f"OBJECT#{key}" for key in markers}] == []
    assert set(job.cloud.dead_letters().values()) == {0}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty_file"),
        (b"%PDF-1.7 nothing", "not_csv"),
        (b"email,name,Email\na@example.com,A,b@example.com\n", "duplicate_header"),
        (HEADER.encode(), "no_data_rows"),
    ],
    ids=["empty", "pdf", "duplicate-header", "no-rows"],
)
def test_a_refused_file_says_why_and_makes_no_request(job: MainJob, content: bytes, code: str) -> None:
    report, requests = job.counted(content)
    assert (report.state, report.code, requests) == ("refused", code, 0)
    assert report.sentence
    assert "\n" not in report.sentence
    assert set(job.cloud.dead_letters().values()) == {0}


def test_an_event_that_comes_three_times_is_one_upload_and_one_request_a_row(job: MainJob) -> None:
    before = job.requests
    report = job.run(prospects(range(5), group="thrice"), "thrice.csv")
    bucket = job.cloud.outputs["UploadsBucketName"]
    version = job.cloud.client("s3").head_object(Bucket=bucket, Key="uploads/thrice.csv")["VersionId"]
    event = {
        "detail-type": "Object Created",
        "source": "aws.s3",
        "detail": {
            "bucket": {"name": bucket},
            "object": {"key": "uploads/thrice.csv", "size": 1, "version-id": version},
        },
    }
    for _ in range(2):
        answer = job.cloud.client("lambda").invoke(
            FunctionName=job.cloud.outputs["IntakeFunctionName"], Payload=json.dumps(event).encode()
        )
        assert "FunctionError" not in answer
    again = job.run(job.folder / "thrice.csv", "thrice.csv")
    assert (again.upload_id, again.rows, job.requests - before) == (report.upload_id, report.rows, 5)


def test_a_results_file_holds_every_record_in_order_with_hostile_cells_neutralised(job: MainJob) -> None:
    hostile = ["=1+1", "@SUM(1)", "-2+3", "+4", "<script>alert(1)</script>"]
    content = HEADER + "".join(f"hostile{n}@example.com,{cell},Firm,Buyer,x\n" for n, cell in enumerate(hostile))
    report, requests = job.counted(content)
    results = results_of(report.results_csv)
    assert (report.ended.classified, requests) == (5, 5)
    assert [row["name"] for row in results] == ["'=1+1", "'@SUM(1)", "'-2+3", "+4", "<script>alert(1)</script>"]
    assert {row["model"] for row in results} != {""}
    assert all(row["request_id"] and row["prompt_version"].startswith("classify-prospect@") for row in results)


def test_no_row_text_reaches_a_log_a_metric_or_a_dead_letters_attributes(job: MainJob) -> None:
    report = job.run(CASES / "A21.csv")
    assert (report.counts.valid, report.counts.rejected) == (1, 1)
    logs = job.cloud.client("logs")
    groups = [group["logGroupName"] for group in logs.describe_log_groups()["logGroups"]]
    assert groups
    lines = [
        event["message"] for group in groups for event in logs.filter_log_events(logGroupName=group).get("events", [])
    ]
    assert any("classif" in line for line in lines)
    text = "\n".join(lines) + json.dumps(job.cloud.metrics())
    for canary in ("canary-7f3a21", "canary-bad-9c1e", "CANARY-NOTE", "Canary Aldous", "Marl Works"):
        assert canary not in text


def test_results_of_1200_rows_are_complete_and_in_order(job: MainJob) -> None:
    report, requests = job.counted(prospects(range(1200), notes="x" * 900, group="many"))
    assert (report.ended.classified, requests) == (1200, 1200)
    results = results_of(report.results_csv)
    assert [row["email"] for row in results] == [f"many{n}@example.com" for n in range(1200)]
    assert all(row["label"] for row in results)
