"""Nobody can approve and execute with one role: what each role may do to which items of the two tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from functions.classify.task import Task
from tests.stacks.templates import Resource, Templates, listed

EXECUTING = ("refund-tool", "refund-queue", "refund-bus", "refund-reconcile")
APPROVING = ("refund-approve",)
DECISION = {
    "decision",
    "decided_by",
    "decided_at",
    "why",
    "order_id",
    "amount_minor",
    "currency",
    "provider",
    "payment",
}
"""What an approval says; whoever could write it could approve."""

May = tuple[str, str, frozenset[str]]
"""An operation, the leading keys that it is allowed on, and the attributes that it may name (none: any)."""


def on_items(templates: Templates, worker: str, table: str) -> list[May]:
    """All that a worker's role may do to items of a table."""
    role = templates.role_of(templates.worker_functions()[worker])
    return [
        each
        for policy in role.properties["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
        if any(is_table(templates, role, resource, table) for resource in listed(statement["Resource"]))
        for each in _items(statement)
    ]


def is_table(templates: Templates, role: Resource, resource: Any, table: str) -> bool:
    if not isinstance(resource, dict) or "Fn::Join" in resource:
        return False
    found = templates.named(resource, role)
    return found.type == "AWS::DynamoDB::Table" and found.logical_id.startswith(table)


def _items(statement: dict[str, Any]) -> Iterator[May]:
    conditions = statement["Condition"]
    # ForAllValues holds where a request names no key at all.
    assert conditions["Null"] == {"dynamodb:LeadingKeys": "false"}
    attributes = listed(conditions.get("ForAllValues:StringEquals", {}).get("dynamodb:Attributes", []))
    for key in listed(conditions["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]):
        for action in listed(statement["Action"]):
            yield action.removeprefix("dynamodb:"), key, frozenset(attributes)


@pytest.mark.parametrize("worker", EXECUTING)
def test_who_executes_writes_refunds_and_closes_actions_and_nothing_of_a_decision(
    each_templates: Templates, worker: str
) -> None:
    on_the_ledger = on_items(each_templates, worker, "RefundLedger")
    assert {(operation, key) for operation, key, _ in on_the_ledger} == {
        *(("GetItem", "action:*"), ("GetItem", "refund:*")),
        *(("PutItem", "refund:*"), ("UpdateItem", "action:*"), ("UpdateItem", "order:*")),
    }
    updates = [attributes for operation, _, attributes in on_the_ledger if operation == "UpdateItem"]
    assert all(updates)
    assert not frozenset().union(*updates) & {*DECISION, "paid_minor"}


@pytest.mark.parametrize("worker", EXECUTING)
def test_who_executes_touches_no_record_but_those_of_refunds(each_templates: Templates, worker: str) -> None:
    records = {(operation, key) for operation, key, _ in on_items(each_templates, worker, "Idempotency")}
    assert records == {(operation, "refund:*") for operation in ("GetItem", "PutItem", "UpdateItem")}


@pytest.mark.parametrize("worker", APPROVING)
def test_who_approves_writes_neither_a_record_nor_a_refund_and_calls_nobody(
    each_templates: Templates, worker: str
) -> None:
    on_the_ledger = on_items(each_templates, worker, "RefundLedger")
    assert {key for _, key, _ in on_the_ledger} == {"action:*", "order:*"}
    assert [(key, attributes) for operation, key, attributes in on_the_ledger if operation == "UpdateItem"] == [
        ("order:*", {"row_id", "committed_minor"})
    ]
    assert ("PutItem", "order:*") not in {(operation, key) for operation, key, _ in on_the_ledger}
    role = each_templates.role_of(each_templates.worker_functions()[worker])
    assert not any(is_table(each_templates, role, each, "Idempotency") for _, each in each_templates.allowed(role))
    assert {action.partition(":")[0] for action, _ in each_templates.allowed(role)} == {"dynamodb", "logs", "sqs"}


def test_nobody_else_touches_the_ledger_and_nobody_deletes_from_it_or_rewrites_a_refund(
    each_templates: Templates,
) -> None:
    for worker, function in each_templates.worker_functions().items():
        role = each_templates.role_of(function)
        actions = {
            action
            for action, resource in each_templates.allowed(role)
            if is_table(each_templates, role, resource, "RefundLedger")
        }
        assert bool(actions) is (worker in (*EXECUTING, *APPROVING))
        assert not [action for action in actions if "Delete" in action]
        assert ("UpdateItem", "refund:*") not in {each[:2] for each in on_items(each_templates, worker, "RefundLedger")}


def test_only_the_workflow_may_invoke_the_tool(each_templates: Templates) -> None:
    tool = each_templates.worker_functions()["refund-tool"]
    roles = each_templates.of_type("AWS::IAM::Role")
    (machine,) = each_templates.of_type("AWS::StepFunctions::StateMachine")
    may = [role for role in roles if each_templates.may(role, "lambda:InvokeFunction", tool)]
    assert may == [each_templates.named(machine.properties["RoleArn"], machine)]


@pytest.mark.parametrize("worker", ["intake", "classify", "finish"])
def test_classifying_has_no_part_in_records_of_refunds(templates: Templates, worker: str) -> None:
    name = Task.model_fields["name"].default
    assert {keys for _, keys, _ in on_items(templates, worker, "Idempotency")} == {f"{name}:*"}
    assert on_items(templates, worker, "RefundLedger") == []
