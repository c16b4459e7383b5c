"""The acceptance cases of the CSV contract through the whole pipeline, in one local cloud, by kind."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from functions.classify.task import build_task
from functions.settings import TaskSettings
from tests.cases.test_csv_contract import NAMES, REFUSED, case
from tests.local.main_job import MainJob, main_job
from tests.unit.csv_world import read

TASK = build_task(TaskSettings())


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MainJob]:
    with main_job(tmp_path_factory.mktemp("cases")) as running:
        yield running


@pytest.fixture(scope="module")
def paid() -> set[str]:
    """Keys that an earlier case paid for."""
    return set()


@pytest.mark.parametrize("name", [pytest.param(name, id=f"{case(name)[1]['kind']}-{name}") for name in NAMES])
def test_case(job: MainJob, paid: set[str], name: str) -> None:
    data, expected = case(name)
    report, requests = job.counted(data, f"{name}.csv")
    if name in REFUSED:
        assert (report.state, report.code, requests) == ("refused", REFUSED[name], 0)
        return
    counts, ended = report.counts, report.ended
    assert report.state == "done"
    assert (counts.valid, counts.blank) == (expected["rows_valid"], expected["rows_blank_skipped"])
    assert counts.rejected + counts.duplicates == expected["rows_rejected"]
    assert ended.classified == counts.valid
    # The cases share prospects: whoever an earlier case paid for is known, and nobody else.
    keys = {TASK.key(record.fields) for record in read(data).records if record.outcome == "valid"}
    assert len(keys) == expected["llm_calls"]
    assert (requests, ended.known) == (len(keys - paid), len(keys & paid))
    paid |= keys
    assert [
        {"record": row.row, "reason": row.reason} for row in report.rows if row.outcome in {"rejected", "duplicate"}
    ] == expected["rejections"]
    assert report.results_csv is not None
    with Path(report.results_csv).open(encoding="utf-8-sig", newline="") as stream:
        results = list(csv.DictReader(stream))
    assert len(results) == counts.records - counts.blank
    assert all(row["label"] or row["reason"] for row in results)
    assert {row["label"] for row in results} <= {"hot", "warm", "cold", ""}


def test_no_case_leaves_a_dead_letter(job: MainJob) -> None:
    assert set(job.cloud.dead_letters().values()) == {0}
