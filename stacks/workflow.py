"""The refund tool as a Step Functions Standard workflow: pay, then say what it came to. Nothing in it retries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as stepfunctions
from constructs import Construct

from stacks.alarms import MINUTE, Alarms
from stacks.refund_failures import WORKFLOW_FAILED
from stacks.worker import Shared

SPARE_S = 10
"""The task waits this much longer than the function may run: a shorter wait ends an execution whose refund happens."""

HAPPENED = ("done", "already_done")


def definition(tool_arn: str, *, timeout_s: int) -> Mapping[str, Any]:
    """In Amazon States Language. `timeout_s` is the tool's own.

    The payment task has no Retry: in a Standard workflow it then runs once, and what may be tried again is decided by
    whoever started it or by the reconciler.
    """
    return {
        "Comment": "One approved action; the execution's name is its request_id.",
        "StartAt": "Pay",
        "States": {
            "Pay": {
                "Type": "Task",
                "Resource": tool_arn,
                "TimeoutSeconds": timeout_s + SPARE_S,
                "Next": "Happened",
            },
            "Happened": {
                "Type": "Choice",
                "Choices": [
                    {"Variable": "$.status", "StringEquals": status, "Next": "Refunded"} for status in HAPPENED
                ],
                "Default": "NotRefunded",
            },
            "Refunded": {"Type": "Succeed"},
            # Fails by name: an execution that ends well means a refund.
            "NotRefunded": {"Type": "Fail", "ErrorPath": "$.status", "CausePath": "$.message"},
        },
    }


class RefundWorkflow(Construct):
    """The state machine, a role that may invoke the one function, and an alarm on executions that failed."""

    def __init__(
        self, scope: Construct, construct_id: str, *, tool: lambda_.IFunction, timeout_s: int, shared: Shared
    ) -> None:
        super().__init__(scope, construct_id)
        machine = stepfunctions.CfnStateMachine(
            self,
            "Machine",
            # Express workflows run a task at least once.
            state_machine_type="STANDARD",
            definition=definition(tool.function_arn, timeout_s=timeout_s),
            role_arn=self._role(tool).role_arn,
        )
        self.arn = machine.attr_arn
        alarms = Alarms(self, "Alarms", prefix=shared.deployment, topic=shared.alerts)
        failed = cloudwatch.Metric(
            namespace="AWS/States",
            metric_name="ExecutionsFailed",
            dimensions_map={"StateMachineArn": machine.attr_arn},
            statistic="Sum",
            period=MINUTE,
        )
        alarms.add("refund-workflow-failed", failed, failure=WORKFLOW_FAILED.failure, first=WORKFLOW_FAILED.first)
        self.alarms = alarms.made

    def _role(self, tool: lambda_.IFunction) -> iam.Role:
        stack = Stack.of(self)
        machines = stack.format_arn(
            service="states", resource="stateMachine", resource_name="*", arn_format=ArnFormat.COLON_RESOURCE_NAME
        )
        invoke = iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[tool.function_arn])
        return iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal(
                "states.amazonaws.com",
                conditions={
                    "StringEquals": {"aws:SourceAccount": stack.account},
                    "ArnLike": {"aws:SourceArn": machines},
                },
            ),
            inline_policies={"pay": iam.PolicyDocument(statements=[invoke])},
        )
