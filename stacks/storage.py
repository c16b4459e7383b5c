"""What outlives everything else: the bucket of uploads and results, and the tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.settings import Settings

UPLOADS = "uploads/"
RESULTS = "results/"
ATTENTION_INDEX = "attention"
OPEN_INDEX = "open-actions"


@dataclass(frozen=True)
class Storage:
    """What other stacks may use of this one. `bucket_arn` is imported under an export name without a hash."""

    bucket: s3.Bucket
    bucket_arn: str
    prospects: dynamodb.Table
    idempotency: dynamodb.Table
    refund_ledger: dynamodb.Table


class StorageStack(Stack):
    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings, **kwargs: Any) -> None:
        super().__init__(scope, construct_id, **kwargs)
        self._settings = settings
        self._removal = RemovalPolicy.DESTROY if settings.ephemeral else RemovalPolicy.RETAIN
        bucket = self._bucket()
        self.storage = Storage(
            bucket=bucket,
            bucket_arn=self.export_value(bucket.bucket_arn, name=f"{construct_id}-UploadsBucketArn"),
            prospects=self._prospects(),
            idempotency=self._idempotency(),
            refund_ledger=self._refund_ledger(),
        )
        CfnOutput(self, "UploadsBucketName", value=self.storage.bucket.bucket_name)
        CfnOutput(self, "ProspectsTableName", value=self.storage.prospects.table_name)
        CfnOutput(self, "IdempotencyTableName", value=self.storage.idempotency.table_name)
        CfnOutput(self, "RefundLedgerTableName", value=self.storage.refund_ledger.table_name)

    def _bucket(self) -> s3.Bucket:
        kept = Duration.days(self._settings.file_retention_days)
        # A running upload reads the object version it was admitted with, so a replaced version must outlive it.
        replaced = Duration.days(self._settings.replaced_file_retention_days)
        bucket = s3.Bucket(
            self,
            "Uploads",
            versioned=True,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            removal_policy=self._removal,
            lifecycle_rules=[
                # Both prefixes hold personal data.
                s3.LifecycleRule(
                    id=f"forget-{prefix.rstrip('/')}",
                    prefix=prefix,
                    expiration=kept,
                    noncurrent_version_expiration=replaced,
                    abort_incomplete_multipart_upload_after=Duration.days(7),
                )
                for prefix in (UPLOADS, RESULTS)
            ]
            # In a versioned bucket an expiry leaves a marker, and with its last version gone the marker says nothing.
            + [s3.LifecycleRule(id="forget-markers", expired_object_delete_marker=True)],
        )
        # The property, not the L2's `event_bridge_enabled`: that one brings a Lambda of its own.
        cast(
            s3.CfnBucket, bucket.node.default_child
        ).notification_configuration = s3.CfnBucket.NotificationConfigurationProperty(
            event_bridge_configuration=s3.CfnBucket.EventBridgeConfigurationProperty(event_bridge_enabled=True)
        )
        return bucket

    def _prospects(self) -> dynamodb.Table:
        table = self._table("Prospects", partition_key="pk", sort_key="sk", ttl="expires_at")
        # Sparse: only rows whose outcome may still change carry the attribute. It projects what is needed to look
        # their keys up and to see whether the outcome moved on.
        table.add_global_secondary_index(
            index_name=ATTENTION_INDEX,
            partition_key=_text("attention"),
            sort_key=_text("sk"),
            projection_type=dynamodb.ProjectionType.INCLUDE,
            non_key_attributes=["upload_id", "key", "outcome", "attempt"],
        )
        return table

    def _idempotency(self) -> dynamodb.Table:
        return self._table("Idempotency", partition_key="id", ttl="expiration")

    def _refund_ledger(self) -> dynamodb.Table:
        """Nothing in it expires: a refund that was forgotten could be paid again."""
        table = self._table("RefundLedger", partition_key="row_id")
        # Sparse: an approved action carries the attribute until it is refunded or finally failed.
        table.add_global_secondary_index(
            index_name=OPEN_INDEX,
            partition_key=_text("open"),
            sort_key=dynamodb.Attribute(name="decided_at", type=dynamodb.AttributeType.NUMBER),
            projection_type=dynamodb.ProjectionType.ALL,
        )
        return table

    def _table(
        self, construct_id: str, *, partition_key: str, sort_key: str | None = None, ttl: str | None = None
    ) -> dynamodb.Table:
        return dynamodb.Table(
            self,
            construct_id,
            partition_key=_text(partition_key),
            sort_key=_text(sort_key) if sort_key else None,
            time_to_live_attribute=ttl,
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            encryption=dynamodb.TableEncryption.AWS_MANAGED,
            deletion_protection=not self._settings.ephemeral,
            removal_policy=self._removal,
        )


def _text(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=dynamodb.AttributeType.STRING)
