"""What people look at: nothing on a dashboard is a metric that nobody emits or a resource that does not exist."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.stacks.templates import Resource, Templates

Metric = tuple[str, str, tuple[str, ...]]


def board(templates: Templates, kind: str) -> Resource:
    (found,) = [
        each
        for each in templates.of_type("AWS::CloudWatch::Dashboard")
        if each.properties["DashboardName"].endswith(f"-{kind}")
    ]
    return found


def widgets(dashboard: Resource) -> list[dict[str, Any]]:
    """The body as JSON; a reference stands in it as the text `{"Ref": …}` in a string."""
    body = dashboard.properties["DashboardBody"]
    parts = body["Fn::Join"][1] if isinstance(body, dict) else [body]
    text = "".join(part if isinstance(part, str) else json.dumps(json.dumps(part))[1:-1] for part in parts)
    found: list[dict[str, Any]] = json.loads(text)["widgets"]
    return found


def metrics(dashboard: Resource) -> Iterator[list[Any]]:
    """Namespace, name and dimensions of everything shown; CloudWatch lets "." stand for the same as before."""
    for widget in widgets(dashboard):
        before: list[Any] = []
        for row in widget["properties"].get("metrics", []):
            if isinstance(row[0], dict):
                continue
            names = [each for each in row if not isinstance(each, dict)]
            before = [before[place] if each == "." else each for place, each in enumerate(names)]
            yield before


def expressions(dashboard: Resource) -> list[str]:
    return [
        row[0]["expression"]
        for widget in widgets(dashboard)
        for row in widget["properties"].get("metrics", [])
        if isinstance(row[0], dict)
    ]


def named(templates: Templates, dashboard: Resource, namespace: str, metric: str) -> set[Resource]:
    """The resources of which the dashboard shows this metric."""
    return {
        templates.named(json.loads(value), dashboard)
        for space, name, _, value in metrics(dashboard)
        if (space, name) == (namespace, metric)
    }


def test_there_is_one_for_the_business_for_the_services_and_for_refunds_named_by_the_deployment(
    each_templates: Templates,
) -> None:
    deployment = each_templates.of_type("AWS::EventsV2::EventBus")[0].properties["Name"]
    names = {each.properties["DashboardName"] for each in each_templates.of_type("AWS::CloudWatch::Dashboard")}
    assert names == {f"{deployment}-{kind}" for kind in ("business", "services", "refunds")}


def test_the_business_sees_uploads_rows_and_cost_of_its_own_deployment(each_templates: Templates) -> None:
    dashboard = board(each_templates, "business")
    shown = {tuple(each) for each in metrics(dashboard)}
    deployment = dashboard.properties["DashboardName"].removesuffix("-business")
    assert {(space, dimension) for space, _, dimension, _ in shown} == {(deployment, "service")}
    assert {(worker, name) for _, name, _, worker in shown} == {
        *(("intake", name) for name in ("UploadsAdmitted", "UploadsWaiting", "UploadsRefused")),
        *(("finish", name) for name in ("UploadsPaused", "UploadsFinished", "RowsGivenUp")),
        *(("classify", name) for name in ("RowsClassified", "RowsFailed", "RowsUnknown", "RowsGivenUp")),
        ("classify", "CostMicrousd"),
    }
    assert set(expressions(dashboard)) == {"spent / 1000000"}


@pytest.mark.parametrize("kind", ["services", "refunds"])
def test_every_queue_function_and_dead_letter_queue_of_a_stack_is_on_its_dashboard(
    each_templates: Templates, kind: str
) -> None:
    dashboard = board(each_templates, kind)

    def of_the_stack(resource_type: str) -> list[Resource]:
        return [each for each in each_templates.of_type(resource_type) if each.stack == dashboard.stack]

    mappings = of_the_stack("AWS::Lambda::EventSourceMapping")
    worked_on = {each_templates.named(each.properties["EventSourceArn"], each) for each in mappings}
    for metric in (
        "ApproximateAgeOfOldestMessage",
        "ApproximateNumberOfMessagesNotVisible",
        "ApproximateNumberOfMessagesDelayed",
    ):
        assert named(each_templates, dashboard, "AWS/SQS", metric) == worked_on
    every_queue = set(of_the_stack("AWS::SQS::Queue"))
    assert named(each_templates, dashboard, "AWS/SQS", "ApproximateNumberOfMessagesVisible") == every_queue
    functions = set(of_the_stack("AWS::Lambda::Function"))
    for metric in ("Errors", "Throttles", "Duration", "ConcurrentExecutions"):
        assert named(each_templates, dashboard, "AWS/Lambda", metric) == functions


def test_the_bus_is_shown_without_naming_a_dimension_value(each_templates: Templates) -> None:
    shown = expressions(board(each_templates, "services"))
    schema = 'FROM SCHEMA("AWS/EventsV2", EventBus, Subscriber)'
    assert shown == [
        f"SELECT SUM(EventsDelivered) {schema}",
        f"SELECT SUM(RetryInvocationAttempts) {schema}",
        f"SELECT SUM(OnFailureDestinationDelivered) {schema}",
        f"SELECT SUM(EventsDropped) {schema}",
        f"SELECT MAX(ApproximateBacklogAge) {schema}",
    ]


@pytest.mark.parametrize("kind", ["services", "refunds"])
def test_it_shows_which_alarms_of_its_stack_are_red(each_templates: Templates, kind: str) -> None:
    dashboard = board(each_templates, kind)
    (alarms,) = [each for each in widgets(dashboard) if each["type"] == "alarm"]
    shown = {each_templates.named(json.loads(arn), dashboard) for arn in alarms["properties"]["alarms"]}
    assert shown == {each for each in each_templates.of_type("AWS::CloudWatch::Alarm") if each.stack == dashboard.stack}


@pytest.mark.parametrize("kind", ["business", "services", "refunds"])
def test_widgets_fill_the_width_and_lie_side_by_side(templates: Templates, kind: str) -> None:
    rows: dict[int, list[tuple[int, int]]] = {}
    for widget in widgets(board(templates, kind)):
        rows.setdefault(widget["y"], []).append((widget["x"], widget["width"]))
    for row in rows.values():
        ends = [x + width for x, width in row]
        assert [x for x, _ in row] == [0, *ends[:-1]]
        assert ends[-1] == 24


def test_no_stack_reads_a_name_from_the_workers_stack_so_that_a_worker_can_be_removed(templates: Templates) -> None:
    workers = ("Classification.", "Refund.")
    exported = [
        name for name, each in templates.outputs.items() if "Export" in each and any(stack in name for stack in workers)
    ]
    assert exported == []


def test_a_number_is_the_sum_of_the_time_shown_and_never_an_old_value(each_templates: Templates) -> None:
    numbers = [
        each["properties"]
        for each in widgets(board(each_templates, "business"))
        if each["properties"].get("view") == "singleValue"
    ]
    assert numbers
    assert all(each["setPeriodToTimeRange"] is True for each in numbers)
