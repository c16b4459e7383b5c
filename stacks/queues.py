"""The two kinds of queue: what a worker reads, and where its failures wait for a person."""

from __future__ import annotations

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_sqs as sqs
from constructs import Construct

DEAD_LETTERS_KEPT = Duration.days(14)
"""The longest SQS keeps a message. A redriven message keeps its age, so it must exceed WORK_KEPT."""

WORK_KEPT = Duration.days(7)

VISIBILITY_PER_TIMEOUT = 6
"""AWS: set the visibility timeout to six times the function's (Lambda developer guide, "Using Lambda with SQS")."""

READING = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility")
"""What a function needs of a queue that drives it: Lambda polls as the function, which hides a message for longer."""


def dead_letter_queue(scope: Construct, construct_id: str) -> sqs.Queue:
    """A queue only failures are written to: SSE-SQS, TLS only."""
    return sqs.Queue(
        scope,
        construct_id,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=DEAD_LETTERS_KEPT,
        removal_policy=RemovalPolicy.DESTROY,
    )


def work_queue(
    scope: Construct, construct_id: str, *, function_timeout: Duration, max_receives: int, dead_letters: sqs.Queue
) -> sqs.Queue:
    """A queue that drives a function. After `max_receives` SQS itself moves a message on, payload and all."""
    return sqs.Queue(
        scope,
        construct_id,
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=WORK_KEPT,
        visibility_timeout=Duration.seconds(VISIBILITY_PER_TIMEOUT * int(function_timeout.to_seconds())),
        dead_letter_queue=sqs.DeadLetterQueue(queue=dead_letters, max_receive_count=max_receives),
        removal_policy=RemovalPolicy.DESTROY,
    )
