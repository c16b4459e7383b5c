"""What became of a template's properties: each deployed resource is described again, and what is gone is told.

The emulator drops properties in silence. Some can be set afterwards through the service's own API; the rest are
reported, because a local run that seems to prove a property which is not there proves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from botocore.exceptions import ClientError

from local.alarms.emitted import is_silent
from local.alarms.expressions import ExpressionError
from local.clients import Clients

Describe = Callable[[Clients, str], Mapping[str, Any] | None]


def repair_properties(clients: Clients, template: Mapping[str, Any], resources: Mapping[str, str]) -> None:
    """Set through the services' APIs what CloudFormation here leaves out."""
    for _, kind, properties, physical_id in _deployed(template, resources):
        repair = _REPAIRS.get(kind)
        if repair is not None:
            repair(clients, physical_id, properties, resources)


def dropped_properties(clients: Clients, template: Mapping[str, Any], resources: Mapping[str, str]) -> list[str]:
    """One sentence for every property of the described types that the deployed resource does not have."""
    sentences = []
    for logical_id, kind, properties, physical_id in _deployed(template, resources):
        describe = _DESCRIBES.get(kind)
        if describe is None:
            continue
        if kind == "AWS::CloudWatch::Alarm" and _never_goes_off(properties):
            sentences.append(f"{logical_id} ({kind}): nothing here emits what it watches.")
        found = describe(clients, physical_id)
        if found is None:
            sentences.append(f"{logical_id} ({kind}): the emulator does not have it.")
            continue
        sentences += [
            f"{logical_id} ({kind}): {name} was not kept."
            for name, wanted in properties.items()
            if name in found and not _kept(wanted, found[name])
        ]
    return sentences


def _deployed(
    template: Mapping[str, Any], resources: Mapping[str, str]
) -> Iterator[tuple[str, str, Mapping[str, Any], str]]:
    for logical_id, resource in template["Resources"].items():
        if logical_id in resources:
            yield logical_id, resource["Type"], resource.get("Properties") or {}, resources[logical_id]


def _kept(wanted: Any, found: Any) -> bool:
    """Whether everything wanted is there; of a value that CloudFormation computes, only that there is one."""
    if isinstance(wanted, dict):
        if any(name == "Ref" or name.startswith("Fn::") for name in wanted):
            return found not in (None, "", [], {})
        return isinstance(found, dict) and all(_kept(value, found.get(name)) for name, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) >= len(wanted)
    if isinstance(found, float):
        return float(wanted) == found
    return str(wanted).lower() == str(found).lower()


def _table(clients: Clients, name: str) -> Mapping[str, Any]:
    dynamodb = clients.client("dynamodb")
    table = dynamodb.describe_table(TableName=name)["Table"]
    lifetime = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
    backups = dynamodb.describe_continuous_backups(TableName=name)["ContinuousBackupsDescription"]
    recovery = backups.get("PointInTimeRecoveryDescription", {})
    return {
        "KeySchema": table["KeySchema"],
        "BillingMode": table.get("BillingModeSummary", {}).get("BillingMode"),
        "GlobalSecondaryIndexes": table.get("GlobalSecondaryIndexes"),
        "DeletionProtectionEnabled": table.get("DeletionProtectionEnabled"),
        "TimeToLiveSpecification": {
            "AttributeName": lifetime.get("AttributeName"),
            "Enabled": lifetime.get("TimeToLiveStatus") == "ENABLED",
        },
        "PointInTimeRecoverySpecification": {
            "PointInTimeRecoveryEnabled": recovery.get("PointInTimeRecoveryStatus") == "ENABLED",
            "RecoveryPeriodInDays": recovery.get("RecoveryPeriodInDays"),
        },
    }


def _queue(clients: Clients, url: str) -> Mapping[str, Any]:
    sqs = clients.client("sqs")
    attributes = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    named = ("VisibilityTimeout", "MessageRetentionPeriod", "SqsManagedSseEnabled", "DelaySeconds", "KmsMasterKeyId")
    redrive = json.loads(attributes.get("RedrivePolicy") or "null")
    return {**{name: attributes.get(name) for name in named}, "RedrivePolicy": redrive}


def _mapping(clients: Clients, identifier: str) -> Mapping[str, Any]:
    found = clients.client("lambda").get_event_source_mapping(UUID=identifier)
    named = ("BatchSize", "MaximumBatchingWindowInSeconds", "FunctionResponseTypes", "ScalingConfig", "EventSourceArn")
    return {**{name: found.get(name) for name in named}, "Enabled": found.get("State") == "Enabled"}


def _function(clients: Clients, name: str) -> Mapping[str, Any]:
    functions = clients.client("lambda")
    found = functions.get_function_configuration(FunctionName=name)
    reserved = functions.get_function_concurrency(FunctionName=name).get("ReservedConcurrentExecutions")
    named = ("Handler", "Runtime", "Timeout", "MemorySize", "Environment", "Architectures", "DeadLetterConfig")
    return {**{each: found.get(each) for each in named}, "ReservedConcurrentExecutions": reserved}


def _asynchronous(clients: Clients, physical_id: str) -> Mapping[str, Any]:
    name, _, qualifier = physical_id.rpartition(":")
    found = clients.client("lambda").get_function_event_invoke_config(FunctionName=name, Qualifier=qualifier)
    named = ("MaximumRetryAttempts", "MaximumEventAgeInSeconds", "DestinationConfig")
    return {each: found.get(each) for each in named}


def _bucket(clients: Clients, name: str) -> Mapping[str, Any]:
    s3 = clients.client("s3")
    notifications = s3.get_bucket_notification_configuration(Bucket=name)
    try:
        blocked = s3.get_public_access_block(Bucket=name)["PublicAccessBlockConfiguration"]
    except ClientError:
        blocked = None
    return {
        "VersioningConfiguration": {"Status": s3.get_bucket_versioning(Bucket=name).get("Status")},
        "NotificationConfiguration": {
            "EventBridgeConfiguration": {"EventBridgeEnabled": "EventBridgeConfiguration" in notifications}
        },
        "PublicAccessBlockConfiguration": blocked,
    }


def _topic(clients: Clients, arn: str) -> Mapping[str, Any]:
    attributes = clients.client("sns").get_topic_attributes(TopicArn=arn)["Attributes"]
    return {"KmsMasterKeyId": attributes.get("KmsMasterKeyId")}


def _rule(clients: Clients, name: str) -> Mapping[str, Any]:
    events = clients.client("events")
    rule = events.describe_rule(Name=name)
    named = ("State", "ScheduleExpression")
    targets = events.list_targets_by_rule(Rule=name)["Targets"]
    pattern = json.loads(rule.get("EventPattern") or "null")
    return {**{each: rule.get(each) for each in named}, "EventPattern": pattern, "Targets": targets}


def _never_goes_off(properties: Mapping[str, Any]) -> bool:
    try:
        return is_silent(properties)
    except ExpressionError:
        # Told as a property that was not kept.
        return False


_OF_ALARMS = (
    "AlarmActions",
    "ComparisonOperator",
    "DatapointsToAlarm",
    "Dimensions",
    "EvaluationPeriods",
    "OKActions",
    "Period",
    "Statistic",
    "Threshold",
    "TreatMissingData",
)


def _alarm(clients: Clients, name: str) -> Mapping[str, Any] | None:
    found = clients.client("cloudwatch").describe_alarms(AlarmNames=[name])["MetricAlarms"]
    if not found:
        return None
    alarm = found[0]
    # An alarm that the local cloud cannot evaluate is kept, and as good as not.
    watched = {} if alarm.get("EvaluationState") else {name: alarm.get(name) for name in ("MetricName", "Metrics")}
    return {"MetricName": None, "Metrics": None, **{name: alarm.get(name) for name in _OF_ALARMS}, **watched}


def _dashboard(clients: Clients, name: str) -> Mapping[str, Any] | None:
    cloudwatch = clients.client("cloudwatch")
    try:
        found = cloudwatch.get_dashboard(DashboardName=name)
    except ClientError:
        return None
    return {"DashboardName": found["DashboardName"], "DashboardBody": found.get("DashboardBody")}


_DESCRIBES: Mapping[str, Describe] = {
    "AWS::DynamoDB::Table": _table,
    "AWS::SQS::Queue": _queue,
    "AWS::Lambda::EventSourceMapping": _mapping,
    "AWS::Lambda::Function": _function,
    "AWS::Lambda::EventInvokeConfig": _asynchronous,
    "AWS::S3::Bucket": _bucket,
    "AWS::SNS::Topic": _topic,
    "AWS::Events::Rule": _rule,
    "AWS::CloudWatch::Alarm": _alarm,
    "AWS::CloudWatch::Dashboard": _dashboard,
}


def _repair_table(clients: Clients, name: str, properties: Mapping[str, Any], _: Mapping[str, str]) -> None:
    dynamodb = clients.client("dynamodb")
    lifetime = properties.get("TimeToLiveSpecification")
    if lifetime:
        dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=lifetime)
    recovery = properties.get("PointInTimeRecoverySpecification")
    if recovery:
        dynamodb.update_continuous_backups(TableName=name, PointInTimeRecoverySpecification=recovery)


def _repair_function(clients: Clients, name: str, properties: Mapping[str, Any], _: Mapping[str, str]) -> None:
    reserved = properties.get("ReservedConcurrentExecutions")
    if reserved is not None:
        functions = clients.client("lambda")
        functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=int(reserved))


def _repair_topic(clients: Clients, arn: str, properties: Mapping[str, Any], resources: Mapping[str, str]) -> None:
    key = _physical(properties.get("KmsMasterKeyId"), resources)
    if key:
        clients.client("sns").set_topic_attributes(TopicArn=arn, AttributeName="KmsMasterKeyId", AttributeValue=key)


def _physical(value: Any, resources: Mapping[str, str]) -> str | None:
    """A literal, or the physical id of the resource of the same stack that a Ref or Fn::GetAtt names."""
    if isinstance(value, dict):
        named = value.get("Ref") or (value.get("Fn::GetAtt") or [None])[0]
        return resources.get(str(named))
    return value if isinstance(value, str) else None


_REPAIRS: Mapping[str, Callable[[Clients, str, Mapping[str, Any], Mapping[str, str]], None]] = {
    "AWS::DynamoDB::Table": _repair_table,
    "AWS::Lambda::Function": _repair_function,
    "AWS::SNS::Topic": _repair_topic,
}
