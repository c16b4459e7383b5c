"""A property that the emulator drops is set afterwards where that can be done, and told where it cannot."""

from __future__ import annotations

from typing import Any

from local.properties import dropped_properties, repair_properties
from tests.local.toy import Toy, arn, function, queue, ref, role

TABLE = {
    "Type": "AWS::DynamoDB::Table",
    "Properties": {
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "BillingMode": "PAY_PER_REQUEST",
        "TimeToLiveSpecification": {"AttributeName": "expires_at", "Enabled": True},
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
    },
}
FILTERED_ALARM = {
    "Type": "AWS::CloudWatch::Alarm",
    "Properties": {
        "ComparisonOperator": "GreaterThanThreshold",
        "EvaluationPeriods": 1,
        "Threshold": 0,
        "Metrics": [
            {"Id": "q", "Expression": 'SELECT SUM(EventsDropped) FROM "AWS/EventsV2" WHERE x = 1', "Period": 60}
        ],
    },
}


def looked_at(toy: Toy, name: str, resources: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The sentences before and after the repair."""
    toy.deploy(name, resources, {})
    pages = toy.clients.client("cloudformation").list_stack_resources(StackName=name)["StackResourceSummaries"]
    physical = {found["LogicalResourceId"]: found["PhysicalResourceId"] for found in pages}
    template = {"Resources": resources}
    before = dropped_properties(toy.clients, template, physical)
    repair_properties(toy.clients, template, physical)
    return before, dropped_properties(toy.clients, template, physical)


def test_a_tables_lifetime_and_recovery_are_dropped_and_repaired(toy: Toy) -> None:
    before, after = looked_at(toy, "table", {"Table": TABLE})
    assert before == [
        "Table (AWS::DynamoDB::Table): TimeToLiveSpecification was not kept.",
        "Table (AWS::DynamoDB::Table): PointInTimeRecoverySpecification was not kept.",
    ]
    assert after == []


def test_reserved_concurrency_and_the_topics_key_are_dropped_and_repaired(toy: Toy) -> None:
    resources = {
        "Key": {"Type": "AWS::KMS::Key", "Properties": {"KeyPolicy": {"Statement": []}}},
        "Topic": {"Type": "AWS::SNS::Topic", "Properties": {"KmsMasterKeyId": arn("Key")}},
        "Role": role(),
        "Function": function("def handler(event, context): pass", ReservedConcurrentExecutions=3),
    }
    before, after = looked_at(toy, "reserved", resources)
    assert before == [
        "Topic (AWS::SNS::Topic): KmsMasterKeyId was not kept.",
        "Function (AWS::Lambda::Function): ReservedConcurrentExecutions was not kept.",
    ]
    assert after == []


def test_what_cannot_be_repaired_is_told(toy: Toy) -> None:
    resources = {
        "Dead": queue(),
        "Role": role(),
        "Function": function("def handler(event, context): pass", DeadLetterConfig={"TargetArn": arn("Dead")}),
        "Alarm": FILTERED_ALARM,
    }
    _, after = looked_at(toy, "told", resources)
    assert after == [
        "Function (AWS::Lambda::Function): DeadLetterConfig was not kept.",
        "Alarm (AWS::CloudWatch::Alarm): Metrics was not kept.",
    ]


def test_what_was_kept_is_not_told(toy: Toy) -> None:
    resources = {
        "Dead": queue(MessageRetentionPeriod=1209600),
        "Work": queue(VisibilityTimeout=60, RedrivePolicy={"deadLetterTargetArn": arn("Dead"), "maxReceiveCount": 5}),
        "Role": role(),
        "Function": function("def handler(event, context): pass", Environment={"Variables": {"A": "b"}}),
        "Mapping": {
            "Type": "AWS::Lambda::EventSourceMapping",
            "Properties": {
                "EventSourceArn": arn("Work"),
                "FunctionName": ref("Function"),
                "BatchSize": 10,
                "FunctionResponseTypes": ["ReportBatchItemFailures"],
                "ScalingConfig": {"MaximumConcurrency": 2},
            },
        },
        "Board": {
            "Type": "AWS::CloudWatch::Dashboard",
            "Properties": {"DashboardName": "kept", "DashboardBody": {"Fn::Join": ["", ['{"widgets":[]', "}"]]}},
        },
        "Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"VersioningConfiguration": {"Status": "Enabled"}}},
    }
    assert looked_at(toy, "kept", resources) == ([], [])
