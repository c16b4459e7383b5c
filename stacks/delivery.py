"""What every delivery is: it opens the queues of a worker, then connects its function to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.alarms import Alarms
from stacks.retries import Layer


@dataclass(frozen=True)
class DeadLetters:
    """A dead-letter queue. `failure` completes "holds messages: …"; `first` is what a person does about it."""

    queue: sqs.Queue
    failure: str
    first: str


@dataclass(frozen=True)
class Opened:
    """The queues of one worker: its dead-letter queues by name, and the one it reads, if any."""

    dead_letters: dict[str, DeadLetters] = field(default_factory=dict)
    work: sqs.Queue | None = None
    statements: list[iam.PolicyStatement] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)

    def queue(self, name: str) -> sqs.Queue:
        return self.dead_letters[name].queue


class Delivery(Protocol):
    """How events reach a worker's function."""

    def open(self, scope: Construct, name: str, timeout: Duration) -> Opened: ...

    def connect(self, scope: Construct, name: str, function: lambda_.IFunction, opened: Opened, alarms: Alarms) -> None:
        """Connect the function; called once, after it is made."""

    def layers(self) -> Sequence[Layer]:
        """Everything here that may run the function again for one event."""


def on_asynchronous_failure(
    scope: Construct,
    name: str,
    function: lambda_.IFunction,
    opened: Opened,
    alarms: Alarms,
    *,
    retries: int,
    max_age_s: int,
    lost: str,
) -> None:
    """What Lambda does with an event the function failed on: try again `retries` times, then keep it in the worker's
    queue `<name>-failures`. `lost`: what is to be done about one that could not be kept there, in a sentence."""
    lambda_.CfnEventInvokeConfig(
        scope,
        "Asynchronous",
        function_name=function.function_name,
        qualifier="$LATEST",
        maximum_retry_attempts=retries,
        maximum_event_age_in_seconds=max_age_s,
        destination_config=lambda_.CfnEventInvokeConfig.DestinationConfigProperty(
            on_failure=lambda_.CfnEventInvokeConfig.OnFailureProperty(
                destination=opened.queue(f"{name}-failures").queue_arn
            )
        ),
    )
    alarms.on_failure_failures(name, function, lost)


def without_asynchronous_retries(scope: Construct, function: lambda_.IFunction) -> None:
    """Nothing invokes this function asynchronously; if somebody does by hand, Lambda must not retry the effect."""
    lambda_.CfnEventInvokeConfig(
        scope, "Asynchronous", function_name=function.function_name, qualifier="$LATEST", maximum_retry_attempts=0
    )


def drive_by_queue(
    scope: Construct, name: str, function: lambda_.IFunction, opened: Opened, *, batch_size: int, concurrency: int
) -> sqs.Queue:
    """Have the worker's queue drive its function, and nothing else retry it; returns that queue."""
    if opened.work is None:
        raise ValueError(f"worker {name}: a queue delivery needs the queue that its open() made")
    without_asynchronous_retries(scope, function)
    lambda_.EventSourceMapping(
        scope,
        "Mapping",
        target=function,
        event_source_arn=opened.work.queue_arn,
        batch_size=batch_size,
        max_concurrency=concurrency,
        # Without it one failed message brings the whole batch back.
        report_batch_item_failures=True,
    )
    return opened.work
