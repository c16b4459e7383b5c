"""An alarm on a metric that nobody emits stays silent for ever: what workers count, against alarms and dashboards."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any, get_args

import pytest

from functions.classify.results import Ending, Result
from functions.finish.counting import FINISHED, GIVEN_UP, PAUSED, SWEPT
from functions.intake.admission import Waiting
from functions.intake.counting import ADMITTED, DAY_CEILING, REFUSED, WAITING, counts_of
from functions.metrics import write_counts
from functions.refunds.adapters import paying, schedule
from functions.uploads.model import Upload
from tests.stacks.templates import Resource, Templates
from tests.stacks.test_dashboards import metrics

MODULE = "functions.classify.handler"
HEARD_OF = {"unknown", "failed", "given_up", "malformed", "error", "self_trigger", "hop_limit", "llm_key_refused"}
"""Endings, and reasons of stopped events, that a person must hear of."""

INTAKE_COUNTS = {ADMITTED, WAITING, REFUSED, DAY_CEILING}
FINISH_COUNTS = {FINISHED, PAUSED, SWEPT, GIVEN_UP}

PAID_COUNTS = {*paying.COUNTED_AS.values(), paying.KEYS_REUSED, paying.REFUSED, paying.BUSY}
REFUND_COUNTS = {
    "refund-tool": PAID_COUNTS,
    "refund-queue": {*PAID_COUNTS, paying.ERRORS, paying.GIVEN_UP},
    "refund-bus": {*PAID_COUNTS, paying.MALFORMED, paying.STOPPED},
    "refund-reconcile": {
        *(PAID_COUNTS - {paying.KEYS_REUSED, paying.REFUSED, paying.BUSY}),
        *(schedule.UNKNOWN_TOO_LONG, schedule.NOT_BEGUN, schedule.CUT, schedule.LOOK_FAILED, schedule.JOINED),
    },
}
"""Every metric that a refund worker writes, each by itself."""

RINGS = {
    "refund-tool": {"KeysReused", "RefundsFailed"},
    "refund-queue": {"KeysReused", "RefundsFailed", "RefundsRefused", "MessagesGivenUp", "RefundErrors"},
    "refund-bus": {"KeysReused", "RefundsFailed", "RefundsRefused", "EventsMalformed", "EventsStopped"},
    "refund-reconcile": {"RefundsUnknownTooLong", "RefundsNotBegun", "RefundsFailed", "PassesCut"},
}

Metric = tuple[str, str, tuple[tuple[str, str], ...]]
"""Namespace, name, and the dimensions with their values: together they are what CloudWatch tells metrics apart by."""


def own_alarms(templates: Templates) -> dict[Metric, Resource]:
    """Those on metrics of AWS aside."""
    found = {}
    for alarm in templates.of_type("AWS::CloudWatch::Alarm"):
        namespace = alarm.properties.get("Namespace", "AWS/")
        if not namespace.startswith("AWS/"):
            dimensions = tuple((each["Name"], each["Value"]) for each in alarm.properties["Dimensions"])
            found[namespace, alarm.properties["MetricName"], dimensions] = alarm
    return found


@pytest.fixture
def handler(each_templates: Templates, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The real handler's module, imported with the environment that the template gives it."""
    variables = each_templates.worker_functions()["classify"].properties["Environment"]["Variables"]
    for name, value in variables.items():
        monkeypatch.setenv(name, value if isinstance(value, str) else "known-after-deployment")
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.setenv(name, "eu-west-1")
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    # Powertools binds its handler to the standard output of the first import.
    logging.Logger.manager.loggerDict.pop("classify", None)
    with contextlib.redirect_stdout(io.StringIO()):
        module = importlib.import_module(MODULE)
    yield module
    module._claude.close()
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    logging.Logger.manager.loggerDict.pop("classify", None)


def emitted_by(module: ModuleType, result: Result) -> set[Metric]:
    """Every metric that classify's handler writes for a batch of this one result."""
    publish = module._metrics.log_metrics(lambda event, context: module._report.publish([result], "request-1"))
    return written_by(lambda: publish({}, SimpleNamespace(function_name="classify")))


def written_by(write: Callable[[], object]) -> set[Metric]:
    """Every metric in the lines that this prints, as CloudWatch reads them."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        write()
    found: set[Metric] = set()
    for line in (each for each in map(json.loads, printed.getvalue().splitlines()) if "_aws" in each):
        (directive,) = line["_aws"]["CloudWatchMetrics"]
        (names,) = directive["Dimensions"]
        dimensions = tuple((name, line[name]) for name in names)
        found |= {(directive["Namespace"], each["Name"], dimensions) for each in directive["Metrics"]}
    return found


def results() -> dict[str, Result]:
    """One for every ending, for every reason that stops an event, and for an account that is refused."""

    def result(ending: Any, reason: str = "", **more: Any) -> Result:
        return Result("m1", ending, acknowledged=True, reason=reason, **more)

    endings = {ending: result(ending) for ending in get_args(Ending) if ending != "stopped"}
    stops = {reason: result("stopped", reason) for reason in ("self_trigger", "hop_limit", "budget_closed")}
    refused = result("retry", "llm_key_refused", upload_id="u1", pauses=True)
    return {**endings, **stops, "llm_key_refused": refused}


def told_of(
    worker: str, templates: Templates, monkeypatch: pytest.MonkeyPatch, counts: Mapping[str, int]
) -> set[Metric]:
    """What this worker writes when it counts these, in the environment that the template gives it."""
    variables = templates.worker_functions()[worker].properties["Environment"]["Variables"]
    monkeypatch.setenv("POWERTOOLS_METRICS_NAMESPACE", variables["POWERTOOLS_METRICS_NAMESPACE"])
    return written_by(lambda: write_counts(variables["POWERTOOLS_SERVICE_NAME"], counts))


def of_worker(watched: dict[Metric, Resource], worker: str) -> set[Metric]:
    return {metric for metric in watched if metric[2] == (("service", worker),)}


def test_of_classify_what_people_must_hear_of_and_nothing_else_rings_exactly_one_alarm(
    each_templates: Templates, handler: ModuleType
) -> None:
    watched = of_worker(own_alarms(each_templates), "classify")
    rung = {name: watched & emitted_by(handler, result) for name, result in results().items()}
    assert {name: len(alarms) for name, alarms in rung.items() if alarms} == dict.fromkeys(HEARD_OF, 1)
    # And none waits for a metric that is never emitted.
    assert set().union(*rung.values()) == watched


def test_intake_rings_for_the_days_ceiling_alone(each_templates: Templates, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = of_worker(own_alarms(each_templates), "intake")
    over_its_own, over_the_days = (
        told_of("intake", each_templates, monkeypatch, counts)
        for counts in (counts_of(waiting(101), 100), counts_of(waiting(99), 100))
    )
    others = told_of("intake", each_templates, monkeypatch, dict.fromkeys(INTAKE_COUNTS - {DAY_CEILING}, 1))
    assert watched <= over_the_days
    assert len(watched) == 1
    assert not watched & (over_its_own | others)


def waiting(worst_case_microusd: int) -> Waiting:
    return Waiting(Upload.model_construct(worst_case_microusd=worst_case_microusd))


def test_finish_rings_for_rows_that_the_sweep_gave_up_alone(
    each_templates: Templates, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = of_worker(own_alarms(each_templates), "finish")
    assert watched == told_of("finish", each_templates, monkeypatch, {GIVEN_UP: 1})
    assert not watched & told_of("finish", each_templates, monkeypatch, dict.fromkeys(FINISH_COUNTS - {GIVEN_UP}, 1))


@pytest.mark.parametrize("worker", REFUND_COUNTS)
def test_a_refund_worker_rings_for_what_nobody_else_tells(
    each_templates: Templates, monkeypatch: pytest.MonkeyPatch, worker: str
) -> None:
    watched = of_worker(own_alarms(each_templates), worker)
    assert {name for _, name, _ in watched} == RINGS[worker]
    # And none waits for a metric that is never emitted.
    assert watched <= told_of(worker, each_templates, monkeypatch, dict.fromkeys(REFUND_COUNTS[worker], 1))


def test_every_alarm_on_an_own_metric_is_of_one_of_the_workers(each_templates: Templates) -> None:
    watched = own_alarms(each_templates)
    assert set().union(*(of_worker(watched, name) for name in each_templates.worker_functions())) == watched.keys()


def test_no_dashboard_shows_an_own_metric_that_nobody_writes(
    each_templates: Templates, handler: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = set().union(*(emitted_by(handler, result) for result in results().values()))
    for worker, names in (("intake", INTAKE_COUNTS), ("finish", FINISH_COUNTS), *REFUND_COUNTS.items()):
        written |= told_of(worker, each_templates, monkeypatch, dict.fromkeys(names, 1))
    shown = {
        (space, name, ((dimension, value),))
        for dashboard in each_templates.of_type("AWS::CloudWatch::Dashboard")
        for space, name, dimension, value in metrics(dashboard)
        if not space.startswith("AWS/")
    }
    assert shown
    assert shown - written == set()


def test_they_add_up_what_a_minute_brought(each_templates: Templates) -> None:
    watched = own_alarms(each_templates)
    assert watched
    assert all((a.properties["Statistic"], a.properties["Period"]) == ("Sum", 60) for a in watched.values())
