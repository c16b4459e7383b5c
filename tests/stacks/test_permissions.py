"""A function may do what it does, to what it does it to, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.calls import Source
from tests.stacks.actions import called_by
from tests.stacks.templates import Templates, listed

NOT_CALLED = {
    "intake": [
        *("logs:CreateLogStream IntakeLogs", "logs:PutLogEvents IntakeLogs"),
        # Lambda writes failed asynchronous invocations there as the function.
        "sqs:SendMessage IntakeFailures",
        # Never called: it turns S3's answer for an object that is gone from 403 into 404.
        "s3:ListBucket Uploads",
    ],
    "classify": [
        *("logs:CreateLogStream ClassifyLogs", "logs:PutLogEvents ClassifyLogs"),
        # Lambda polls the queue as the function.
        *("sqs:ReceiveMessage ClassifyQueue", "sqs:DeleteMessage ClassifyQueue"),
        "sqs:GetQueueAttributes ClassifyQueue",
    ],
    "finish": [
        *("logs:CreateLogStream FinishLogs", "logs:PutLogEvents FinishLogs"),
        "sqs:SendMessage FinishFailures",
    ],
    "refund-tool": [
        *("logs:CreateLogStream ToolLogs", "logs:PutLogEvents ToolLogs"),
        "sqs:SendMessage ToolFailures",
    ],
    "refund-queue": [
        *("logs:CreateLogStream QueueLogs", "logs:PutLogEvents QueueLogs"),
        *("sqs:ReceiveMessage Queue", "sqs:DeleteMessage Queue", "sqs:GetQueueAttributes Queue"),
    ],
    "refund-bus": [*("logs:CreateLogStream BusLogs", "logs:PutLogEvents BusLogs")],
    "refund-reconcile": [
        *("logs:CreateLogStream ReconcileLogs", "logs:PutLogEvents ReconcileLogs"),
        "sqs:SendMessage ReconcileFailures",
    ],
    "refund-approve": [
        *("logs:CreateLogStream ApproveLogs", "logs:PutLogEvents ApproveLogs"),
        "sqs:SendMessage ApproveFailures",
    ],
}
"""What a function needs although its code does not call it."""


def text_of(value: Any) -> str:
    """A resource as text; what is only known after deployment counts as a name."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and "Fn::Join" in value:
        separator, parts = value["Fn::Join"]
        return separator.join(map(text_of, parts))
    return "<name>"


def short(templates: Templates, name: str) -> set[str]:
    """What a worker's role allows, each as "action kind-of-resource"."""
    role = templates.role_of(templates.worker_functions()[name])
    found = set()
    for action, resource in templates.allowed(role):
        try:
            target = templates.named(resource, role).logical_id.rstrip("0123456789ABCDEF")
        except AssertionError:
            target = text_of(resource)
        found.add(f"{action} {target}")
    return found


def test_no_role_allows_a_wildcard_action_or_everything(each_templates: Templates) -> None:
    for role in each_templates.of_type("AWS::IAM::Role"):
        for action, resource in each_templates.allowed(role):
            assert "*" not in action
            assert not text_of(resource).startswith("*")


def test_the_only_wildcard_resources_are_the_two_prefixes_of_the_bucket(templates: Templates) -> None:
    wild = {
        text_of(resource)
        for role in templates.of_type("AWS::IAM::Role")
        for _, resource in templates.allowed(role)
        if "*" in text_of(resource)
    }
    assert wild == {"<name>/uploads/*", "<name>/results/*"}


def test_no_role_uses_a_managed_policy(each_templates: Templates) -> None:
    assert not any(role.properties.get("ManagedPolicyArns") for role in each_templates.of_type("AWS::IAM::Role"))


def test_every_function_has_a_role_of_its_own_that_only_lambda_assumes(each_templates: Templates) -> None:
    functions = each_templates.of_type("AWS::Lambda::Function")
    roles = [each_templates.role_of(function) for function in functions]
    assert len(set(roles)) == len(functions)
    for role in roles:
        (statement,) = role.properties["AssumeRolePolicyDocument"]["Statement"]
        assert statement["Principal"] == {"Service": "lambda.amazonaws.com"}


def test_a_function_writes_only_into_its_own_log_group(each_templates: Templates) -> None:
    for function in each_templates.of_type("AWS::Lambda::Function"):
        group = each_templates.named(function.properties["LoggingConfig"]["LogGroup"], function)
        role = each_templates.role_of(function)
        writes = [resource for action, resource in each_templates.allowed(role) if action == "logs:PutLogEvents"]
        assert [each_templates.named(resource, role) for resource in writes] == [group]


@pytest.mark.parametrize("name", NOT_CALLED)
def test_a_function_may_do_exactly_what_its_code_calls(templates: Templates, source: Source, name: str) -> None:
    module = templates.worker_functions()[name].properties["Handler"].rpartition(".")[0]
    allowed, called = short(templates, name), called_by(source, module) | set(NOT_CALLED[name])
    assert sorted(allowed - called) == [], "granted, but never called"
    assert sorted(called - allowed) == [], "called, but not granted"


def test_every_call_of_aws_is_on_a_client_that_is_called_one(source: Source) -> None:
    assert source.unknown_calls() == []


@pytest.mark.parametrize(("name", "action"), [("intake", "s3:ListBucket"), ("finish", "s3:ListBucketVersions")])
def test_uploads_are_all_that_can_be_listed(templates: Templates, name: str, action: str) -> None:
    role = templates.role_of(templates.worker_functions()[name])
    statements = [each for policy in role.properties["Policies"] for each in policy["PolicyDocument"]["Statement"]]
    (listing,) = [each for each in statements if action in listed(each["Action"])]
    assert listing["Condition"] == {"StringLike": {"s3:prefix": "uploads/*"}}


def test_classify_reads_one_secret_by_name(templates: Templates) -> None:
    secrets = [each for each in short(templates, "classify") if each.startswith("secretsmanager:")]
    assert secrets == [
        "secretsmanager:GetSecretValue "
        "arn:<name>:secretsmanager:<name>:<name>:secret:prospect-uploader/anthropic-??????"
    ]


def test_with_bedrock_classify_runs_one_model_and_reads_no_secret(other_templates: Templates) -> None:
    model = [each for each in short(other_templates, "classify") if each.startswith(("secretsmanager:", "bedrock:"))]
    assert sorted(model) == [
        "bedrock:InvokeModel arn:aws:bedrock:*::foundation-model/anthropic.claude-haiku-5-5",
        "bedrock:InvokeModel arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-haiku-5-5",
    ]


def test_no_resource_policy_lets_anybody_in(each_templates: Templates) -> None:
    for kind in ("AWS::SQS::QueuePolicy", "AWS::S3::BucketPolicy", "AWS::SNS::TopicPolicy"):
        for policy in each_templates.of_type(kind):
            for statement in policy.properties["PolicyDocument"]["Statement"]:
                everybody = json.dumps(statement["Principal"]) in {'"*"', '{"AWS": "*"}'}
                assert not everybody or statement["Effect"] == "Deny", policy
