"""What each function may do, action by action, on named resources; `stacks/worker.py` adds logs and its queues.

Exactly what its code calls: a test compares this with the calls that each handler reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs

from stacks.bus import EventBus
from stacks.settings import Settings
from stacks.storage import ATTENTION_INDEX, RESULTS, UPLOADS, Storage

CLASSIFICATIONS = "classify-prospect:*"
"""Keys of the records that classifying keeps; those of refunds are none of its business."""


@dataclass(frozen=True)
class Resources:
    """What the functions of this deployment work on."""

    storage: Storage
    bus: EventBus
    alerts: sns.Topic
    alerts_key: kms.Key


@dataclass(frozen=True)
class Items:
    """Items of a table, by their leading keys."""

    table_arn: str
    keys: str

    def may(self, *operations: str, attributes: Sequence[str] = ()) -> iam.PolicyStatement:
        """`attributes`: the only ones that a write may name; none: any."""
        conditions: dict[str, Any] = {
            "ForAllValues:StringLike": {"dynamodb:LeadingKeys": [self.keys]},
            # ForAllValues holds where there are no keys at all.
            "Null": {"dynamodb:LeadingKeys": "false"},
        }
        if attributes:
            conditions["ForAllValues:StringEquals"] = {"dynamodb:Attributes": list(attributes)}
        return iam.PolicyStatement(
            actions=[f"dynamodb:{each}" for each in operations], resources=[self.table_arn], conditions=conditions
        )


def intake_statements(use: Resources) -> list[iam.PolicyStatement]:
    return [
        allow(["s3:GetObject", "s3:GetObjectVersion"], f"{use.storage.bucket_arn}/{UPLOADS}*"),
        _tell_gone_from_forbidden(use),
        _records(use).may("BatchGetItem"),
        # A transaction is allowed by the actions it consists of.
        allow(_table("GetItem", "Query", "PutItem", "UpdateItem"), use.storage.prospects.table_arn),
        allow(["events:PutEvents"], use.bus.arn),
        *_alert(use),
    ]


def classify_statements(settings: Settings, use: Resources, stack: Stack) -> list[iam.PolicyStatement]:
    return [
        _records(use).may("GetItem", "PutItem", "UpdateItem"),
        # It updates to pause an upload.
        allow(_table("GetItem", "PutItem", "UpdateItem"), use.storage.prospects.table_arn),
        *_model(settings, stack),
    ]


def finish_statements(
    use: Resources, *, intake_function_arn: str, classify_queue: sqs.IQueue
) -> list[iam.PolicyStatement]:
    prospects = use.storage.prospects.table_arn
    return [
        allow(_table("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem"), prospects),
        allow(_table("Query"), f"{prospects}/index/{ATTENTION_INDEX}"),
        # The sweep looks keys up, says what has become unknown, and gives rows up.
        _records(use).may("GetItem", "BatchGetItem", "PutItem", "UpdateItem"),
        # It counts what still waits; it never reads a message.
        allow(["sqs:GetQueueAttributes"], classify_queue.queue_arn),
        _find_versions_nobody_told_of(use),
        # It reads the version that was admitted, never the current one.
        allow(["s3:GetObjectVersion"], f"{use.storage.bucket_arn}/{UPLOADS}*"),
        # A multipart upload is started, written and completed with PutObject.
        allow(["s3:PutObject", "s3:AbortMultipartUpload"], f"{use.storage.bucket_arn}/{RESULTS}*"),
        allow(["events:PutEvents"], use.bus.arn),
        allow(["lambda:InvokeFunction"], intake_function_arn),
        *_alert(use),
    ]


def allow(actions: Sequence[str], *resources: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=list(actions), resources=list(resources))


def _tell_gone_from_forbidden(use: Resources) -> iam.PolicyStatement:
    """Nothing is listed. Without it S3 answers 403 for an object that is gone, which intake must take for a fault.

    S3 asks with the object's key as the prefix, so what intake cannot read stays hidden from it.
    """
    return iam.PolicyStatement(
        actions=["s3:ListBucket"],
        resources=[use.storage.bucket_arn],
        conditions={"StringLike": {"s3:prefix": f"{UPLOADS}*"}},
    )


def _find_versions_nobody_told_of(use: Resources) -> iam.PolicyStatement:
    """The sweep compares the versions of uploads, and of nothing else in the bucket, with what was taken in."""
    return iam.PolicyStatement(
        actions=["s3:ListBucketVersions"],
        resources=[use.storage.bucket_arn],
        conditions={"StringLike": {"s3:prefix": f"{UPLOADS}*"}},
    )


def _records(use: Resources) -> Items:
    return Items(use.storage.idempotency.table_arn, CLASSIFICATIONS)


def _table(*operations: str) -> list[str]:
    return [f"dynamodb:{operation}" for operation in operations]


def _alert(use: Resources) -> list[iam.PolicyStatement]:
    return [
        allow(["sns:Publish"], use.alerts.topic_arn),
        allow(["kms:Decrypt", "kms:GenerateDataKey"], use.alerts_key.key_arn),
    ]


def _model(settings: Settings, stack: Stack) -> list[iam.PolicyStatement]:
    if settings.model_provider == "anthropic":
        # Secrets Manager ends every secret's ARN with a hyphen and six characters of its own.
        secret = f"{settings.anthropic_secret_name}-??????"
        return [allow(["secretsmanager:GetSecretValue"], _arn(stack, "secretsmanager", f"secret:{secret}"))]
    group, _, model = settings.model_id.partition("anthropic.")
    model_name = f"foundation-model/anthropic.{model}"
    if not group:
        return [allow(["bedrock:InvokeModel"], _arn(stack, "bedrock", model_name, account=""))]
    # A profile sends a request on to its model in any Region of its group, and both are asked for.
    return [
        allow(["bedrock:InvokeModel"], _arn(stack, "bedrock", f"inference-profile/{settings.model_id}")),
        allow(["bedrock:InvokeModel"], _arn(stack, "bedrock", model_name, account="", region="*")),
    ]


def _arn(stack: Stack, service: str, resource: str, *, account: str | None = None, region: str | None = None) -> str:
    where = stack.region if region is None else region
    return f"arn:{stack.partition}:{service}:{where}:{stack.account if account is None else account}:{resource}"
