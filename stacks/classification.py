"""The way of a row: an upload starts intake, the bus feeds classify through its queue, a schedule runs finish."""

from __future__ import annotations

from typing import Any

from aws_cdk import CfnOutput, Duration, Fn, Stack
from aws_cdk import aws_events as events
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.dashboards import services_dashboard
from stacks.deliveries import QueueDelivery, RuleDelivery
from stacks.environment import Names, classify_environment, finish_environment, intake_environment
from stacks.own_failures import CLASSIFY_FAILURES, FINISH_FAILURES, INTAKE_FAILURES, TICK_FAILED
from stacks.permissions import Resources, classify_statements, finish_statements, intake_statements
from stacks.retries import Layer, anthropic_sdk
from stacks.settings import Settings
from stacks.storage import UPLOADS
from stacks.worker import Shared, Worker

BOTO3 = (Layer("boto3 for DynamoDB", 10, "AWS call"), Layer("boto3 for PutEvents", 2, "AWS call"))
"""Its default for the one, the publisher's own choice for the other."""

ROW_EVENTS = {"source": ["prospect-uploader"], "detail-type": ["prospect.submitted"]}


class ClassificationStack(Stack):
    def __init__(
        self, scope: Construct, construct_id: str, *, settings: Settings, use: Resources, shared: Shared, **kwargs: Any
    ) -> None:
        super().__init__(scope, construct_id, **kwargs)
        self._settings = settings
        self._use = use
        self._shared = shared
        self._names = Names(
            uploads_bucket=use.storage.bucket.bucket_name,
            prospects_table=use.storage.prospects.table_name,
            idempotency_table=use.storage.idempotency.table_name,
            event_bus_arn=use.bus.arn,
            alerts_topic_arn=use.alerts.topic_arn,
        )
        self.intake = self._intake()
        self.classify = self._classify()
        self.finish = self._finish()
        # Here and not beside the business's: a reference from another stack would keep a worker from being removed.
        services_dashboard(self, settings.name, [self.intake, self.classify, self.finish])
        self._outputs()

    def _intake(self) -> Worker:
        settings = self._settings
        return Worker(
            self,
            "Intake",
            name="intake",
            shared=self._shared,
            handler="functions.intake.handler.handler",
            delivery=RuleDelivery(
                description="A file was uploaded",
                pattern=events.EventPattern(
                    source=["aws.s3"],
                    detail_type=["Object Created"],
                    detail={
                        "bucket": {"name": [self._names.uploads_bucket]},
                        "object": {"key": [{"prefix": UPLOADS}]},
                    },
                ),
                # Intake publishes with the same ids and moves its checkpoint forward only, so running it again is safe.
                async_retries=2,
            ),
            environment=intake_environment(settings, self._names),
            statements=intake_statements(self._use),
            timeout=Duration.seconds(settings.intake_timeout_s),
            memory_mb=settings.intake_memory_mb,
            own_layers=BOTO3,
            own_metrics=INTAKE_FAILURES,
        )

    def _classify(self) -> Worker:
        settings = self._settings
        return Worker(
            self,
            "Classify",
            name="classify",
            shared=self._shared,
            handler="functions.classify.handler.handler",
            delivery=QueueDelivery(
                bus=self._use.bus,
                subscriber_name=f"{settings.name}-classify",
                pattern=ROW_EVENTS,
                max_receives=settings.max_receives,
                batch_size=settings.batch_size,
                concurrency=settings.concurrency,
            ),
            environment=classify_environment(settings, self._names),
            statements=classify_statements(settings, self._use, self),
            timeout=Duration.seconds(settings.classify_timeout_s),
            memory_mb=settings.classify_memory_mb,
            own_layers=[anthropic_sdk(), Layer("boto3", 3, "AWS call")],
            billable=settings.max_paid_attempts,
            own_metrics=CLASSIFY_FAILURES,
        )

    def _finish(self) -> Worker:
        settings = self._settings
        rows = self.classify.work_queue
        if rows is None:
            raise ValueError("the sweep of finish needs the queue of classify, which must be delivered through one")
        return Worker(
            self,
            "Finish",
            name="finish",
            shared=self._shared,
            handler="functions.finish.handler.handler",
            delivery=RuleDelivery(
                description="Look at every open upload",
                # EventBridge schedules in whole minutes.
                schedule=events.Schedule.rate(Duration.minutes(max(1, settings.tick_s // 60))),
                # The next tick is the retry; an old one is worth nothing.
                rule_retries=1,
                rule_max_age_s=300,
                async_retries=0,
                async_max_age_s=300,
            ),
            environment=finish_environment(
                settings,
                self._names,
                intake_function_name=self.intake.function.function_name,
                classify_queue_url=rows.queue_url,
            ),
            statements=finish_statements(
                self._use, intake_function_arn=self.intake.function.function_arn, classify_queue=rows
            ),
            timeout=Duration.seconds(settings.finish_timeout_s),
            memory_mb=settings.finish_memory_mb,
            own_layers=BOTO3,
            own_metrics=FINISH_FAILURES,
            on_error=TICK_FAILED,
        )

    def _outputs(self) -> None:
        workers = (self.intake, self.classify, self.finish)
        for worker in workers:
            CfnOutput(self, f"{worker.node.id}FunctionName", value=worker.function.function_name)
        if self.classify.work_queue is not None:
            CfnOutput(self, "ClassifyQueueUrl", value=self.classify.work_queue.queue_url)
        dead_letters: dict[str, sqs.Queue] = {}
        for worker in workers:
            dead_letters.update(worker.dead_letters)
        pairs = [f"{name}={queue.queue_url}" for name, queue in dead_letters.items()]
        CfnOutput(self, "DeadLetterQueues", value=Fn.join(",", pairs))
