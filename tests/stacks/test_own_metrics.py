"""An alarm on a metric that nobody emits stays silent for ever: classify's own metrics against the alarms on them."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any, get_args

import pytest

from functions.classify.results import Ending, Result
from tests.stacks.templates import Resource, Templates

MODULE = "functions.classify.handler"
HEARD_OF = {"unknown", "given_up", "malformed", "error", "self_trigger", "hop_limit", "llm_key_refused"}
"""Endings, and reasons of stopped events, that a person must hear of."""

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
    """Every metric that the handler writes for a batch of this one result."""
    publish = module._metrics.log_metrics(lambda event, context: module._report.publish([result], "request-1"))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        publish({}, SimpleNamespace(function_name="classify"))
    (line,) = [each for each in map(json.loads, printed.getvalue().splitlines()) if "_aws" in each]
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    (names,) = directive["Dimensions"]
    dimensions = tuple((name, line[name]) for name in names)
    return {(directive["Namespace"], each["Name"], dimensions) for each in directive["Metrics"]}


def results() -> dict[str, Result]:
    """One for every ending, for every reason that stops an event, and for an account that is refused."""

    def result(ending: Any, reason: str = "", **more: Any) -> Result:
        return Result("m1", ending, acknowledged=True, reason=reason, **more)

    endings = {ending: result(ending) for ending in get_args(Ending) if ending != "stopped"}
    stops = {reason: result("stopped", reason) for reason in ("self_trigger", "hop_limit", "budget_closed")}
    refused = result("retry", "llm_key_refused", upload_id="u1", pauses=True)
    return {**endings, **stops, "llm_key_refused": refused}


def test_what_people_must_hear_of_and_nothing_else_rings_exactly_one_alarm(
    each_templates: Templates, handler: ModuleType
) -> None:
    watched = own_alarms(each_templates)
    rung = {name: watched.keys() & emitted_by(handler, result) for name, result in results().items()}
    assert {name: len(alarms) for name, alarms in rung.items() if alarms} == dict.fromkeys(HEARD_OF, 1)
    # And none waits for a metric that is never emitted.
    assert set().union(*rung.values()) == watched.keys()


def test_they_add_up_what_a_minute_brought(each_templates: Templates) -> None:
    watched = own_alarms(each_templates)
    assert watched
    assert all((a.properties["Statistic"], a.properties["Period"]) == ("Sum", 60) for a in watched.values())
