"""The Custom Event Bus and the topic people hear from."""

from __future__ import annotations

from typing import Any

from aws_cdk import CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_eventsv2 as eventsv2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from stacks.bus import EventBus
from stacks.settings import Settings


class MessagingStack(Stack):
    def __init__(self, scope: Construct, construct_id: str, *, settings: Settings, **kwargs: Any) -> None:
        super().__init__(scope, construct_id, **kwargs)
        bus = eventsv2.CfnEventBus(
            self,
            "Bus",
            name=settings.name,
            description="Events of the prospect uploader",
            # What a redrive reads: the bus's on-failure records have no payload.
            storage_configuration=eventsv2.CfnEventBus.StorageConfigurationProperty(
                retention_period_in_days=settings.bus_retention_days
            ),
        )
        self.bus = EventBus(bus)
        self.alerts_key = self._key()
        self.alerts = self._alerts(settings)
        CfnOutput(self, "EventBusArn", value=self.bus.arn)
        CfnOutput(self, "AlertsTopicArn", value=self.alerts.topic_arn)

    def _key(self) -> kms.Key:
        key = kms.Key(
            self,
            "AlertsKey",
            description="Encrypts the alerts topic of the prospect uploader",
            enable_key_rotation=True,
            pending_window=Duration.days(7),
            # Messages pass through; nothing is stored under it.
            removal_policy=RemovalPolicy.DESTROY,
        )
        # The AWS-managed key of SNS admits no service, and alarms then fail without a word.
        for service in ("cloudwatch.amazonaws.com", "events.amazonaws.com"):
            key.add_to_resource_policy(
                iam.PolicyStatement(
                    principals=[iam.ServicePrincipal(service)],
                    actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                    resources=["*"],
                    conditions={"StringEquals": {"aws:SourceAccount": self.account}},
                )
            )
        return key

    def _alerts(self, settings: Settings) -> sns.Topic:
        topic = sns.Topic(
            self, "Alerts", display_name=f"{settings.name} alerts", master_key=self.alerts_key, enforce_ssl=True
        )
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AlarmsOfThisAccount",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": self.account}},
            )
        )
        if settings.alert_email:
            topic.add_subscription(subscriptions.EmailSubscription(settings.alert_email))
        return topic
