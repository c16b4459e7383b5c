"""The three ways an event reaches a worker, each with its retry policy, its dead-letter queues and who may write there.

A delivery makes its queues first (`open`: the function's role must name them), then connects the function (`connect`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_eventsv2 as eventsv2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.alarms import Alarms
from stacks.bus import BusRetry, EventBus
from stacks.delivery import (
    DeadLetters,
    Opened,
    drive_by_queue,
    on_asynchronous_failure,
    without_asynchronous_retries,
)
from stacks.queues import READING, dead_letter_queue, work_queue
from stacks.retries import Layer

LOST = "A lost tick needs nothing; a file whose event was lost is found by the sweep."
"""Stands in the alarms on what a rule sends and no dead-letter queue took."""

LONGEST_DIRECT_DELIVERY_S = 30
"""The bus waits at most 30 s for a function (InvocationTimeoutSeconds) and then delivers again."""


@dataclass(frozen=True, kw_only=True)
class RuleDelivery:
    """A rule on the default bus whose target is the function: for what S3 and schedules send.

    The rule hands over asynchronously: an accepted invocation counts as delivered, so its own retries never run the
    function twice; a function that fails is retried by Lambda (`async_retries`, 0 to 2).
    """

    pattern: events.EventPattern | None = None
    schedule: events.Schedule | None = None
    description: str
    rule_retries: int = 185
    rule_max_age_s: int = 24 * 3600
    async_retries: int
    async_max_age_s: int = 6 * 3600

    def open(self, scope: Construct, name: str, timeout: Duration) -> Opened:  # noqa: ARG002 -- part of the protocol
        failures = dead_letter_queue(scope, "Failures")
        return Opened(
            dead_letters={
                f"{name}-rule-dlq": DeadLetters(
                    dead_letter_queue(scope, "RuleDlq"),
                    "EventBridge could not hand these events to Lambda (permission, deleted function, throttling).",
                    "Read the message attribute ERROR_CODE, mend what it names, and invoke the function with the body.",
                ),
                f"{name}-failures": DeadLetters(
                    failures,
                    "the function failed on these events as often as Lambda tries.",
                    "Read the error in responsePayload and the log of its requestId; then invoke the function with "
                    "requestPayload.",
                ),
            },
            statements=[iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[failures.queue_arn])],
        )

    def connect(self, scope: Construct, name: str, function: lambda_.IFunction, opened: Opened, alarms: Alarms) -> None:
        on_asynchronous_failure(
            scope,
            name,
            function,
            opened,
            alarms,
            retries=self.async_retries,
            max_age_s=self.async_max_age_s,
            lost=LOST,
        )
        rule = events.Rule(
            scope, "Rule", event_pattern=self.pattern, schedule=self.schedule, description=self.description
        )
        # Also writes the queue's policy: events.amazonaws.com may send, for this rule's ARN only.
        rule.add_target(
            targets.LambdaFunction(
                function,
                dead_letter_queue=opened.queue(f"{name}-rule-dlq"),
                retry_attempts=self.rule_retries,
                max_event_age=Duration.seconds(self.rule_max_age_s),
            )
        )
        alarms.rule_failures(name, rule)
        if self.schedule is not None:
            alarms.schedule_silence(name, function, self.schedule)

    def layers(self) -> Sequence[Layer]:
        return [
            Layer("the rule", 1 + self.rule_retries, "hand-over"),
            Layer("Lambda's asynchronous invocation", 1 + self.async_retries),
        ]


@dataclass(frozen=True, kw_only=True)
class SubscriberDelivery:
    """The bus invokes the function and waits for its answer, one event at a time: for light work under 30 s.

    The answer is the delivery: a function that fails is retried by the bus, and only by the bus.
    """

    bus: EventBus
    subscriber_name: str
    pattern: Mapping[str, Sequence[str]]
    retry: BusRetry = field(default_factory=lambda: BusRetry(attempts=5, max_age_s=3600))

    def open(self, scope: Construct, name: str, timeout: Duration) -> Opened:
        if timeout.to_seconds() >= LONGEST_DIRECT_DELIVERY_S:
            raise ValueError(
                f"worker {name}: its timeout of {timeout.to_seconds():g} s must be under {LONGEST_DIRECT_DELIVERY_S} s,"
                " or the bus delivers again while it still runs; deliver through a queue instead."
            )
        return Opened(dead_letters={f"{name}-subscriber-dlq": _subscriber_dlq(scope, "the function")})

    def connect(self, scope: Construct, name: str, function: lambda_.IFunction, opened: Opened, alarms: Alarms) -> None:  # noqa: ARG002
        without_asynchronous_retries(scope, function)
        self.bus.subscribe(
            scope,
            name=self.subscriber_name,
            pattern=self.pattern,
            target_arn=function.function_arn,
            target_action="lambda:InvokeFunction",
            dead_letters=opened.queue(f"{name}-subscriber-dlq"),
            retry=self.retry,
            # One event an invocation: a batch would be retried as a whole.
            max_batch_size=1,
            lambda_parameters=eventsv2.CfnSubscriber.LambdaParametersProperty(
                invocation_type="REQUEST_RESPONSE", invocation_timeout_seconds=str(LONGEST_DIRECT_DELIVERY_S)
            ),
        )

    def layers(self) -> Sequence[Layer]:
        return [Layer("the bus", 1 + self.retry.attempts)]


@dataclass(frozen=True, kw_only=True)
class QueueDelivery:
    """The bus fills a queue and the queue drives the function: for costly work.

    The queue is the buffer and the one layer that retries: up to `max_receives` receives, then SQS moves the message
    with its payload to the dead-letter queue. Waiting for a free function costs a message no receive.
    """

    bus: EventBus
    subscriber_name: str
    pattern: Mapping[str, Sequence[str]]
    max_receives: int
    batch_size: int
    concurrency: int
    retry: BusRetry = field(default_factory=BusRetry)

    def open(self, scope: Construct, name: str, timeout: Duration) -> Opened:
        dead_letters = dead_letter_queue(scope, "Dlq")
        work = work_queue(
            scope, "Queue", function_timeout=timeout, max_receives=self.max_receives, dead_letters=dead_letters
        )
        return Opened(
            dead_letters={
                f"{name}-subscriber-dlq": _subscriber_dlq(scope, "the queue"),
                f"{name}-dlq": DeadLetters(
                    dead_letters,
                    "the function gave these up, at once or after the last receive.",
                    "Read the message attribute reason; a message without one failed on its last receive, and the "
                    "function's log says why.",
                ),
            },
            work=work,
            statements=_queue_statements(work, dead_letters),
            environment={
                f"{name.upper()}_QUEUE_URL": work.queue_url,
                f"{name.upper()}_DLQ_URL": dead_letters.queue_url,
            },
        )

    def connect(self, scope: Construct, name: str, function: lambda_.IFunction, opened: Opened, alarms: Alarms) -> None:
        work = drive_by_queue(scope, name, function, opened, batch_size=self.batch_size, concurrency=self.concurrency)
        self.bus.subscribe(
            scope,
            name=self.subscriber_name,
            pattern=self.pattern,
            target_arn=work.queue_arn,
            target_action="sqs:SendMessage",
            dead_letters=opened.queue(f"{name}-subscriber-dlq"),
            retry=self.retry,
        )
        alarms.queue_lag(
            name,
            work,
            "Compare what arrives with what is worked off on the services dashboard; raise the setting "
            "requests_in_flight where the model's limits allow it.",
        )

    def layers(self) -> Sequence[Layer]:
        return [Layer("the bus", 1 + self.retry.attempts, "hand-over"), Layer("the queue", self.max_receives)]


def _subscriber_dlq(scope: Construct, target: str) -> DeadLetters:
    return DeadLetters(
        dead_letter_queue(scope, "SubscriberDlq"),
        f"the bus could not deliver these events to {target}; a message has the events' ids, the bus their payload.",
        "Read the error in a message and mend the delivery role or the target before the bus's retention ends.",
    )


def _queue_statements(work: sqs.Queue, dead_letters: sqs.Queue) -> list[iam.PolicyStatement]:
    """Read the queue, hide a message for longer, put one back, and move one to the dead-letter queue at once."""
    return [
        iam.PolicyStatement(actions=[*READING, "sqs:SendMessage"], resources=[work.queue_arn]),
        iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[dead_letters.queue_arn]),
    ]
