"""What becomes of rows when the model misbehaves: one script, one cloud, each row its own failure, none another's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.reports import RowReport
from tests.local.leaks import said_by
from tests.local.main_job import HEADER, MainJob, main_job

DATA = Path(__file__).resolve().parents[1] / "cases" / "data"
REPLIES = json.loads((DATA / "A22.replies.json").read_text()) + json.loads((DATA / "A23.replies.json").read_text())
OVERLOADED = {"status": 529, "type": "overloaded_error"}


def rule(marker: str, then: dict[str, Any], times: int | None = None) -> dict[str, Any]:
    return {"when": {"contains": marker}, "then": then} | ({"times": times} if times else {})


FAULTS: dict[str, list[dict[str, Any]]] = {
    "overloaded-twice": [rule("overloaded-twice", OVERLOADED, 2)],
    "overloaded-for-ever": [rule("overloaded-for-ever", OVERLOADED)],
    "asked-to-wait": [
        rule("asked-to-wait", {"status": 429, "type": "rate_limit_error", "headers": {"retry-after": "1"}}, 1)
    ],
    "unavailable-once": [rule("unavailable-once", {"status": 503, "type": "api_error"}, 1)],
    "bad-request": [rule("bad-request", {"status": 400, "type": "invalid_request_error"})],
    "server-error": [rule("server-error", {"status": 500, "type": "api_error"})],
    "never-in-time": [rule("never-in-time", {"delay_s": 30})],
    "dropped-before": [rule("dropped-before", {"drop": "before_reading"})],
    "dropped-after": [rule("dropped-after", {"drop": "after_reading"})],
    "html": [rule("html-page", {"status": 502, "body": "<html>bad gateway</html>"})],
    "refusal": [rule("refusal-row", {"text": "", "stop_reason": "refusal"})],
}
MARKERS = {"html": "html-page", "refusal": "refusal-row"}


def script() -> list[dict[str, Any]]:
    replies = [rule(f"reply-{n}-end", reply["reply"]) for n, reply in enumerate(REPLIES)]
    return [each for rules in FAULTS.values() for each in rules] + replies


def leads() -> str:
    names = [MARKERS.get(fault, fault) for fault in FAULTS]
    names += [f"reply-{n}-end" for n in range(len(REPLIES))]
    names += [f"neighbour-{n}" for n in range(6)]
    return HEADER + "".join(f"{name}@example.com,Pat {n},Firm,Buyer,{name}\n" for n, name in enumerate(names))


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MainJob]:
    folder = tmp_path_factory.mktemp("faults")
    with main_job(folder, script(), model_deadline_s="3", classify_timeout_s="8") as running:
        yield running


@pytest.fixture(scope="module")
def report(job: MainJob) -> Any:
    return job.counted(leads(), "faults.csv")


@pytest.fixture(scope="module")
def rows(report: Any) -> list[RowReport]:
    rows: list[RowReport] = report[0].rows
    return rows


def test_every_row_ends_and_the_counts_add_up(report: Any) -> None:
    ended = report[0].ended
    assert report[0].state == "done"
    assert ended.classified + ended.failed + ended.unknown == report[0].counts.valid == len(leads().splitlines()) - 1


EXPECTED = {
    "overloaded-twice": ("classified", ""),
    "overloaded-for-ever": ("failed", "llm_overloaded"),
    "asked-to-wait": ("classified", ""),
    "unavailable-once": ("classified", ""),
    "bad-request": ("failed", "llm_bad_request"),
    "server-error": ("unknown", "llm_error_outcome_unknown"),
    "never-in-time": ("unknown", "llm_timeout_outcome_unknown"),
    "dropped-before": ("unknown", "llm_connection_lost_outcome_unknown"),
    "dropped-after": ("unknown", "llm_connection_lost_outcome_unknown"),
    "html": ("unknown", "llm_error_outcome_unknown"),
    "refusal": ("failed", "llm_refused"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_ends_where_it_should(rows: list[RowReport], fault: str) -> None:
    row = rows[list(FAULTS).index(fault)]
    assert (row.outcome, row.reason) == EXPECTED[fault]


@pytest.mark.parametrize("number", range(len(REPLIES)))
def test_each_shape_of_reply_gives_its_label_or_a_failure(rows: list[RowReport], number: int) -> None:
    row = rows[len(FAULTS) + number]
    said = row.label or ("FAIL " + row.reason)
    accepted = [a for a in REPLIES[number]["accept"] if a.startswith("FAIL") or " " not in a]
    assert said in accepted
    assert row.label not in REPLIES[number]["never"] or not row.label


def test_neighbours_are_untouched(rows: list[RowReport]) -> None:
    assert [row.outcome for row in rows[-6:]] == ["classified"] * 6


def test_no_row_made_more_than_one_request_that_may_have_been_billed(job: MainJob, report: Any) -> None:
    sent = {"overloaded-twice": 3, "overloaded-for-ever": 5, "asked-to-wait": 2, "unavailable-once": 2}
    sent["dropped-before"] = 0
    once = len(FAULTS) - len(sent) + len(REPLIES) + 6
    assert report[1] == once + sum(sent.values())
    # Of these, the overloads, the wait, the unavailability and the bad request cost nothing.
    assert job.cloud.billed_requests == once - 1 + 3


def test_final_failures_are_in_the_dead_letter_queue_once_with_their_reason(
    job: MainJob, rows: list[RowReport]
) -> None:
    failed = [row for row in rows if row.outcome == "failed"]
    assert job.cloud.dead_letters()["classify-dlq"] == len(failed)


def test_the_same_file_again_makes_no_request_not_even_for_unknown_rows(job: MainJob, report: Any) -> None:
    again, further = job.counted(leads(), "again.csv")
    assert (further, again.rows) == (0, report[0].rows)


def test_on_none_of_these_roads_a_row_or_a_files_name_is_said(job: MainJob, report: Any) -> None:
    said = said_by(job.cloud) + "".join(notice.subject + notice.text for notice in job.cloud.outbox())
    assert "llm_bad_request" in said, "the reasons are said"
    named = [marker for marker in (*MARKERS.values(), *FAULTS) if f"{marker}@" in said]
    assert [word for word in ("@example.com", "Pat ", "Buyer", *named) if word in said] == []
    assert "faults.csv" not in said_by(job.cloud)
