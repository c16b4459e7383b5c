"""The refund tool: the ways to call it, who decides about refunds, and what asks the provider about open ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aws_cdk import CfnOutput, Duration, Fn, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from constructs import Construct

from stacks.alarms import FailureMetric, Words
from stacks.dashboards import refunds_dashboard
from stacks.deliveries import RuleDelivery, SubscriberDelivery
from stacks.delivery import Delivery
from stacks.direct import DirectDelivery, SentQueueDelivery
from stacks.permissions import Resources
from stacks.refund_environment import approving_environment, executing_environment, reconciling_environment
from stacks.refund_failures import (
    APPROVE,
    APPROVE_ERROR,
    APPROVE_LOST,
    BUS,
    BUS_ERROR,
    BUS_FAILURES,
    QUEUE,
    QUEUE_FAILURES,
    RECONCILE,
    RECONCILE_ERROR,
    RECONCILE_FAILURES,
    TOOL,
    TOOL_ERROR,
    TOOL_FAILURES,
    TOOL_LOST,
)
from stacks.refund_permissions import approving_statements, executing_statements, reconciling_statements
from stacks.retries import stripe_library
from stacks.settings import Settings
from stacks.worker import Shared, Worker
from stacks.workflow import RefundWorkflow

REFUND_EVENTS = {"detail-type": ["refund.requested"]}
MEMORY_MB = 512


class RefundStack(Stack):
    def __init__(
        self, scope: Construct, construct_id: str, *, settings: Settings, use: Resources, shared: Shared, **kwargs: Any
    ) -> None:
        super().__init__(scope, construct_id, **kwargs)
        self._settings = settings
        self._use = use
        self._shared = shared
        self.tool = self._executing("Tool", TOOL, DirectDelivery(lost=TOOL_LOST), TOOL_FAILURES, TOOL_ERROR)
        self.queue = self._queue()
        self.bus = self._bus()
        self.reconcile = self._reconcile()
        self.approve = self._approve()
        self.workers: Sequence[Worker] = (self.tool, self.queue, self.bus, self.reconcile, self.approve)
        self.workflow = RefundWorkflow(
            self, "Workflow", tool=self.tool.function, timeout_s=settings.refund_timeout_s, shared=shared
        )
        refunds_dashboard(self, settings.name, self.workers, self.workflow.alarms)
        self._outputs()

    def _executing(
        self,
        construct_id: str,
        name: str,
        delivery: Delivery,
        own_metrics: Sequence[FailureMetric],
        on_error: Words | None,
        *,
        timeout_s: int | None = None,
        more: dict[str, str] | None = None,
    ) -> Worker:
        """A function that runs what was approved, however it is called."""
        settings = self._settings
        return self._worker(
            construct_id,
            name,
            delivery,
            environment={**executing_environment(settings, self._use.storage), **(more or {})},
            statements=executing_statements(settings, self._use.storage, self),
            timeout_s=timeout_s or settings.refund_timeout_s,
            own_metrics=own_metrics,
            on_error=on_error,
        )

    def _queue(self) -> Worker:
        settings = self._settings
        delivery = SentQueueDelivery(
            variables="REFUND", max_receives=settings.max_receives, batch_size=settings.refund_batch_size, concurrency=2
        )
        timeout_s = settings.refund_queue_timeout_s
        return self._executing("Queue", QUEUE, delivery, QUEUE_FAILURES, None, timeout_s=timeout_s)

    def _bus(self) -> Worker:
        delivery = SubscriberDelivery(
            bus=self._use.bus, subscriber_name=f"{self._settings.name}-refunds", pattern=REFUND_EVENTS
        )
        more = {"MAX_HOPS": f"{self._settings.max_hops}"}
        return self._executing("Bus", BUS, delivery, BUS_FAILURES, BUS_ERROR, more=more)

    def _reconcile(self) -> Worker:
        settings = self._settings
        return self._worker(
            "Reconcile",
            RECONCILE,
            RuleDelivery(
                description="Ask the payment provider about refunds that are open",
                schedule=events.Schedule.rate(Duration.minutes(max(1, settings.reconcile_s // 60))),
                # The next pass is the retry; an old one is worth nothing.
                rule_retries=1,
                rule_max_age_s=300,
                async_retries=0,
                async_max_age_s=300,
            ),
            environment=reconciling_environment(settings, self._use.storage),
            statements=reconciling_statements(settings, self._use.storage, self),
            timeout_s=settings.reconcile_timeout_s,
            own_metrics=RECONCILE_FAILURES,
            on_error=RECONCILE_ERROR,
        )

    def _approve(self) -> Worker:
        settings = self._settings
        return self._worker(
            "Approve",
            APPROVE,
            DirectDelivery(lost=APPROVE_LOST),
            environment=approving_environment(settings, self._use.storage),
            statements=approving_statements(self._use.storage),
            timeout_s=settings.refund_timeout_s,
            own_metrics=(),
            on_error=APPROVE_ERROR,
            pays=False,
        )

    def _worker(
        self,
        construct_id: str,
        name: str,
        delivery: Delivery,
        *,
        environment: dict[str, str],
        statements: Sequence[iam.PolicyStatement],
        timeout_s: int,
        own_metrics: Sequence[FailureMetric],
        on_error: Words | None,
        pays: bool = True,
    ) -> Worker:
        return Worker(
            self,
            construct_id,
            name=name,
            shared=self._shared,
            handler=f"functions.refunds.handlers.{construct_id.lower()}.handler",
            delivery=delivery,
            environment=environment,
            statements=statements,
            timeout=Duration.seconds(timeout_s),
            memory_mb=MEMORY_MB,
            own_layers=[stripe_library()] if pays else [],
            billable=int(pays),
            own_metrics=own_metrics,
            on_error=on_error,
        )

    def _outputs(self) -> None:
        for worker in self.workers:
            CfnOutput(self, f"Refund{worker.node.id}FunctionName", value=worker.function.function_name)
        if self.queue.work_queue is not None:
            CfnOutput(self, "RefundQueueUrl", value=self.queue.work_queue.queue_url)
        CfnOutput(self, "RefundStateMachineArn", value=self.workflow.arn)
        pairs = [f"{name}={queue.queue_url}" for worker in self.workers for name, queue in worker.dead_letters.items()]
        CfnOutput(self, "RefundDeadLetterQueues", value=Fn.join(",", pairs))
