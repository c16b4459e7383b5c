"""The one construct every consumer is made with: function, role, delivery, dead-letter queues, alarms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.alarms import Alarms, FailureMetric, Words
from stacks.delivery import Delivery
from stacks.retries import Layer, Retries, checked


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What all workers of a deployment have in common.

    `deployment` is the prefix of its stacks and alarms, and the namespace of its workers' own metrics. Every worker
    adds itself to `retries`.
    """

    deployment: str
    code: lambda_.Code
    alerts: sns.ITopic
    log_retention_days: int
    removal_policy: RemovalPolicy
    retries: list[Retries] = field(default_factory=list)


class Worker(Construct):
    """A Lambda function that consumes.

    `statements` are what its own logic needs; the delivery adds what consuming needs, and nothing else is granted.
    `own_layers` are retries inside the function (an SDK's); more than one layer that repeats the effect is refused.
    `billable` is how many requests for one row or one refund may be billed, whatever is repeated.
    `own_metrics` are failures that only the function itself can tell; each gets an alarm.
    `on_error` is what the alarm on its errors says, where an error of this one means more than a failed invocation.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        shared: Shared,
        handler: str,
        delivery: Delivery,
        environment: Mapping[str, str],
        statements: Sequence[iam.PolicyStatement],
        timeout: Duration,
        memory_mb: int,
        own_layers: Sequence[Layer] = (),
        billable: int = 0,
        own_metrics: Sequence[FailureMetric] = (),
        on_error: Words | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.name = name
        self.retries = checked(Retries(name, [*delivery.layers(), *own_layers], billable))
        shared.retries.append(self.retries)
        opened = delivery.open(self, name, timeout)
        log_group = self._log_group(shared)
        self.function = lambda_.Function(
            self,
            "Function",
            code=shared.code,
            handler=handler,
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=lambda_.Architecture.ARM_64,
            timeout=timeout,
            memory_size=memory_mb,
            environment={
                "POWERTOOLS_SERVICE_NAME": name,
                "POWERTOOLS_METRICS_NAMESPACE": shared.deployment,
                **opened.environment,
                **environment,
            },
            log_group=log_group,
            role=self._role(log_group, [*opened.statements, *statements]),
        )
        self.work_queue = opened.work
        self.dead_letters: dict[str, sqs.Queue] = {key: each.queue for key, each in opened.dead_letters.items()}
        alarms = Alarms(self, "Alarms", prefix=shared.deployment, topic=shared.alerts)
        alarms.function_failures(name, self.function, timeout, on_error)
        for own in own_metrics:
            alarms.own_metric(name, own)
        for key, each in opened.dead_letters.items():
            alarms.queue_depth(key, each.queue, each.failure, each.first)
        delivery.connect(self, name, self.function, opened, alarms)
        self.alarms: Sequence[cloudwatch.IAlarm] = alarms.made

    def _log_group(self, shared: Shared) -> logs.LogGroup:
        log_group = logs.LogGroup(self, "Logs", removal_policy=shared.removal_policy)
        # The L2's enumeration has no way in from a number of days.
        cast(logs.CfnLogGroup, log_group.node.default_child).retention_in_days = shared.log_retention_days
        return log_group

    def _role(self, log_group: logs.LogGroup, statements: Sequence[iam.PolicyStatement]) -> iam.IRole:
        write_logs = iam.PolicyStatement(
            actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[log_group.log_group_arn]
        )
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            inline_policies={"run": iam.PolicyDocument(statements=[write_logs, *statements])},
        )
        # What is listed above is all there is: no construct may add to it behind our back.
        return role.without_policy_updates()
