"""The refund workflow runs its payment task once, waits longer than the tool may run, and fails by name."""

from __future__ import annotations

import json
from typing import Any, get_args

from functions.refunds.answer import Status
from stacks.workflow import HAPPENED, definition
from tests.stacks.templates import Resource, Templates


def machine(templates: Templates) -> Resource:
    (found,) = templates.of_type("AWS::StepFunctions::StateMachine")
    return found


def states(templates: Templates) -> dict[str, Any]:
    found: dict[str, Any] = machine(templates).properties["Definition"]["States"]
    return found


def test_it_is_a_standard_workflow_whose_task_is_never_retried(each_templates: Templates) -> None:
    properties = machine(each_templates).properties
    assert properties["StateMachineType"] == "STANDARD"
    assert [name for name, state in states(each_templates).items() if state["Type"] == "Task"] == ["Pay"]
    assert "Retry" not in json.dumps(properties["Definition"])


def test_its_task_waits_longer_than_the_tool_may_run(each_templates: Templates) -> None:
    tool = each_templates.worker_functions()["refund-tool"]
    assert states(each_templates)["Pay"]["TimeoutSeconds"] > tool.properties["Timeout"]


def test_it_ends_well_where_the_refund_happened_and_fails_by_the_status_everywhere_else() -> None:
    written = definition("arn", timeout_s=28)["States"]
    ends_well = {choice["StringEquals"] for choice in written["Happened"]["Choices"] if choice["Next"] == "Refunded"}
    assert ends_well == set(HAPPENED) == {"done", "already_done"}
    assert ends_well < set(get_args(Status))
    assert written["Happened"]["Default"] == "NotRefunded"
    assert written["NotRefunded"] == {"Type": "Fail", "ErrorPath": "$.status", "CausePath": "$.message"}


def test_only_step_functions_assumes_its_role_and_only_for_this_account(each_templates: Templates) -> None:
    found = machine(each_templates)
    role = each_templates.named(found.properties["RoleArn"], found)
    (statement,) = role.properties["AssumeRolePolicyDocument"]["Statement"]
    assert statement["Principal"] == {"Service": "states.amazonaws.com"}
    assert statement["Condition"]["StringEquals"].keys() == {"aws:SourceAccount"}
    assert statement["Condition"]["ArnLike"].keys() == {"aws:SourceArn"}
    assert [action for action, _ in each_templates.allowed(role)] == ["lambda:InvokeFunction"]


def test_there_is_an_alarm_on_executions_that_failed(each_templates: Templates) -> None:
    (alarm,) = [
        each
        for each in each_templates.of_type("AWS::CloudWatch::Alarm")
        if each.properties.get("Namespace") == "AWS/States"
    ]
    assert alarm.properties["MetricName"] == "ExecutionsFailed"
    (dimension,) = alarm.properties["Dimensions"]
    assert each_templates.named(dimension["Value"], alarm) == machine(each_templates)
