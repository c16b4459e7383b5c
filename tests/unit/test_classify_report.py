"""What a batch adds to the metrics: every message once, under the name of its ending."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from aws_lambda_powertools import Logger, Metrics

from functions.classify.report import METRIC_OF, NOT_RUNNING, Report
from functions.classify.results import Ending, Result


@pytest.fixture
def metrics() -> Iterator[Metrics]:
    # Powertools keeps what is counted on the class.
    found = Metrics(namespace="Trial", service="trial")
    yield found
    found.clear_metrics()


def counted(metrics: Metrics, *results: Result) -> dict[str, float]:
    Report(Logger(service="trial"), metrics).publish(results, "request-1")
    serialized: dict[str, Any] = json.loads(json.dumps(metrics.serialize_metric_set()))
    names = [each["Name"] for each in serialized["_aws"]["CloudWatchMetrics"][0]["Metrics"]]
    return {name: sum(serialized[name]) for name in names}


def stopped(reason: str) -> Result:
    return Result("m", "stopped", acknowledged=True, reason=reason)


def test_every_ending_has_a_metric_of_its_own() -> None:
    assert METRIC_OF.keys() == set(get_args(Ending))
    assert len({*METRIC_OF.values(), NOT_RUNNING}) == len(METRIC_OF) + 1


@pytest.mark.parametrize("reason", ["self_trigger", "hop_limit"])
def test_an_event_that_a_loop_or_too_many_hops_stopped_is_counted_as_stopped(metrics: Metrics, reason: str) -> None:
    assert counted(metrics, stopped(reason)) == {"RowsReceived": 1, "EventsStopped": 1, "CostMicrousd": 0}


def test_an_event_whose_upload_is_not_running_is_no_alarm(metrics: Metrics) -> None:
    found = counted(metrics, stopped("budget_closed"), stopped("budget_closed"), stopped("hop_limit"))
    assert found == {"RowsReceived": 3, "EventsStopped": 1, "EventsOfClosedBudgets": 2, "CostMicrousd": 0}


def test_a_refused_account_is_counted_once_an_upload(metrics: Metrics) -> None:
    refused = [
        Result(f"m{number}", "held", acknowledged=True, reason="llm_key_refused", upload_id=upload, pauses=True)
        for number, upload in enumerate(["u1", "u1", "u2"])
    ]
    assert counted(metrics, *refused)["ModelRefusals"] == 2
