"""Subscribing to the Custom Event Bus (AWS::EventsV2): one after the other, each subscriber with its delivery role."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Stack
from aws_cdk import aws_eventsv2 as eventsv2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct


@dataclass(frozen=True)
class BusRetry:
    """How long the bus tries to deliver. It retries every error, a missing permission included, at growing intervals.

    `attempts` 0 to 185 after the first, `max_age_s` 60 to 86,400 seconds; whichever ends first ends it.
    """

    attempts: int = 185
    max_age_s: int = 24 * 3600


class EventBus:
    """A bus and the chain of its subscribers.

    The bus takes one subscriber change at a time (ConcurrentModificationException), so each subscriber depends on
    the one made before it.
    """

    def __init__(self, bus: eventsv2.CfnEventBus) -> None:
        self.arn = bus.attr_event_bus_arn
        self._last: eventsv2.CfnSubscriber | None = None

    def subscribe(
        self,
        scope: Construct,
        *,
        name: str,
        pattern: Mapping[str, Sequence[str]],
        target_arn: str,
        target_action: str,
        dead_letters: sqs.Queue,
        retry: BusRetry,
        max_batch_size: int | None = None,
        lambda_parameters: eventsv2.CfnSubscriber.LambdaParametersProperty | None = None,
    ) -> eventsv2.CfnSubscriber:
        """Deliver events that match `pattern` to `target_arn`; what cannot be delivered is recorded in `dead_letters`.

        The record has no payload, only event ids: the bus's retention is what a redrive reads.
        """
        role = _delivery_role(scope, [(target_action, target_arn), ("sqs:SendMessage", dead_letters.queue_arn)])
        subscriber = eventsv2.CfnSubscriber(
            scope,
            "Subscriber",
            name=name,
            event_bus_arn=self.arn,
            type="UNORDERED",
            starting_position="LATEST",
            filter_configuration=eventsv2.CfnSubscriber.FilterConfigurationProperty(
                filters=[eventsv2.CfnSubscriber.FilterProperty(scope="DATA", pattern=json.dumps(pattern))]
            ),
            invoke_configuration=eventsv2.CfnSubscriber.InvokeConfigurationProperty(
                target_arn=target_arn, role_arn=role.role_arn, lambda_parameters=lambda_parameters
            ),
            batch_configuration=None
            if max_batch_size is None
            else eventsv2.CfnSubscriber.BatchConfigurationProperty(max_batch_size=max_batch_size),
            retry_policy=eventsv2.CfnSubscriber.RetryPolicyProperty(
                retry_strategy="ALL",
                max_retry_attempts=retry.attempts,
                max_event_age_in_seconds=retry.max_age_s,
            ),
            on_failure_configuration=eventsv2.CfnSubscriber.OnFailureConfigurationProperty(arn=dead_letters.queue_arn),
        )
        if self._last is not None:
            subscriber.add_resource_dependency(self._last)
        self._last = subscriber
        return subscriber


def _delivery_role(scope: Construct, allowed: Sequence[tuple[str, str]]) -> iam.Role:
    """What the bus acts as, for this account's subscribers only; each action on one named resource.

    Its policy is inline: a policy of its own could still be missing when the subscriber delivers its first event.
    """
    stack = Stack.of(scope)
    # Spelled as the service's own guide spells a subscriber; its generated id is not known before it exists.
    subscribers = stack.format_arn(service="events", resource="subscriber", resource_name="*")
    statements = [iam.PolicyStatement(actions=[action], resources=[arn]) for action, arn in allowed]
    return iam.Role(
        scope,
        "DeliveryRole",
        assumed_by=iam.ServicePrincipal(
            "events.amazonaws.com",
            conditions={
                "StringEquals": {"aws:SourceAccount": stack.account},
                "ArnLike": {"aws:SourceArn": subscribers},
            },
        ),
        inline_policies={"deliver": iam.PolicyDocument(statements=statements)},
    )
