"""Deliveries without a bus or a rule: callers invoke the function themselves, or send to its queue themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from stacks.alarms import Alarms
from stacks.delivery import DeadLetters, Opened, drive_by_queue, on_asynchronous_failure
from stacks.queues import READING, dead_letter_queue, work_queue
from stacks.retries import Layer

ASYNCHRONOUS_AGE_S = 6 * 3600


@dataclass(frozen=True, kw_only=True)
class DirectDelivery:
    """Whoever may invoke the function does. A call that waits hears of its failure; an asynchronous one that failed is
    kept. Lambda retries neither: the caller knows whether to call again.

    `lost`: what is to be done about a failed asynchronous call that could not be kept, in a sentence.
    """

    lost: str

    def open(self, scope: Construct, name: str, timeout: Duration) -> Opened:  # noqa: ARG002 -- part of the protocol
        failures = dead_letter_queue(scope, "Failures")
        return Opened(
            dead_letters={
                f"{name}-failures": DeadLetters(
                    failures,
                    f"asynchronous calls of {name} ended in an error, which nobody else was told.",
                    "Read errorType in responsePayload: a refusal says what was wrong with requestPayload, and any "
                    "other error is in the log of its requestId.",
                )
            },
            statements=[iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[failures.queue_arn])],
        )

    def connect(self, scope: Construct, name: str, function: lambda_.IFunction, opened: Opened, alarms: Alarms) -> None:
        on_asynchronous_failure(
            scope, name, function, opened, alarms, retries=0, max_age_s=ASYNCHRONOUS_AGE_S, lost=self.lost
        )

    def layers(self) -> Sequence[Layer]:
        return [Layer("Lambda's asynchronous invocation", 1)]


@dataclass(frozen=True, kw_only=True)
class SentQueueDelivery:
    """Whoever may send to the queue does, and the queue drives the function; it is the one layer that retries.

    The function learns its queues as `<variables>_QUEUE_URL` and `<variables>_DLQ_URL`, and at which receive redrive
    takes a message as `<variables>_MAX_RECEIVES`.
    """

    variables: str
    max_receives: int
    batch_size: int
    concurrency: int

    def open(self, scope: Construct, name: str, timeout: Duration) -> Opened:
        dead_letters = dead_letter_queue(scope, "Dlq")
        work = work_queue(
            scope, "Queue", function_timeout=timeout, max_receives=self.max_receives, dead_letters=dead_letters
        )
        return Opened(
            dead_letters={
                f"{name}-dlq": DeadLetters(
                    dead_letters,
                    "no further delivery of these could change anything, or they failed on their last receive.",
                    "Read the message attribute reason, and ask prospects refund status for the request_id in the "
                    "body before anything is sent again; without a reason the function's log says why.",
                )
            },
            work=work,
            statements=[
                iam.PolicyStatement(actions=list(READING), resources=[work.queue_arn]),
                iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[dead_letters.queue_arn]),
            ],
            environment={
                f"{self.variables}_QUEUE_URL": work.queue_url,
                f"{self.variables}_DLQ_URL": dead_letters.queue_url,
                f"{self.variables}_MAX_RECEIVES": f"{self.max_receives}",
            },
        )

    def connect(self, scope: Construct, name: str, function: lambda_.IFunction, opened: Opened, alarms: Alarms) -> None:
        work = drive_by_queue(scope, name, function, opened, batch_size=self.batch_size, concurrency=self.concurrency)
        alarms.queue_lag(
            name,
            work,
            "Look on the refunds dashboard whether invocations take longer than they did or messages come again and "
            f"again; at most {self.concurrency} invocations run at a time, so a burst takes its time.",
        )

    def layers(self) -> Sequence[Layer]:
        return [Layer("the queue", self.max_receives)]
