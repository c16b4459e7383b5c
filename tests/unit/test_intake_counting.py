"""What is counted of decisions, and how the line that CloudWatch reads it from looks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from functions.intake.admission import Admitted, Decision, Joined, Rejected, Settled, Waiting
from functions.intake.counting import counts_of
from functions.metrics import write_counts
from functions.uploads.model import Upload


def upload(worst_case_microusd: int) -> Upload:
    return Upload.model_construct(upload_id="u-1", worst_case_microusd=worst_case_microusd)


@pytest.mark.parametrize(
    ("decision", "counted"),
    [
        (Admitted(upload(1)), {"UploadsAdmitted": 1}),
        (Rejected("empty_file"), {"UploadsRefused": 1}),
        (Joined(upload(1)), {}),
        (Settled(), {}),
    ],
)
def test_a_version_that_changes_something_is_counted_once(decision: Decision, counted: dict[str, int]) -> None:
    assert counts_of(decision, max_upload_microusd=100) == counted


@pytest.mark.parametrize(
    ("worst_case", "ceiling", "by_day"), [(101, 100, 0), (100, 100, 1), (99, 100, 1), (10**12, 0, 1)]
)
def test_an_upload_its_own_ceiling_does_not_hold_back_waits_because_of_the_days(
    worst_case: int, ceiling: int, by_day: int
) -> None:
    assert counts_of(Waiting(upload(worst_case)), ceiling) == {"UploadsWaiting": 1, "DayCeilingReached": by_day}


@pytest.fixture
def namespace(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", "Trial")
    return "Trial"


def test_counts_are_written_into_the_deployments_namespace_under_the_workers_name(
    namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_counts("intake", {"UploadsWaiting": 1, "DayCeilingReached": 0})
    line: dict[str, Any] = json.loads(capsys.readouterr().out)
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    assert (directive["Namespace"], directive["Dimensions"]) == (namespace, [["service"]])
    assert [metric["Name"] for metric in directive["Metrics"]] == ["UploadsWaiting"]
    assert (line["service"], line["UploadsWaiting"]) == ("intake", [1.0])


def test_nothing_is_written_of_nothing(namespace: str, capsys: pytest.CaptureFixture[str]) -> None:
    write_counts("intake", {"UploadsWaiting": 0})
    write_counts("intake", {})
    assert capsys.readouterr().out == ""
