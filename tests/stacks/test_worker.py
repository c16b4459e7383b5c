"""A worker for each of the three deliveries, made the way a new consumer would be."""

from __future__ import annotations

from pathlib import Path

import pytest

from stacks.bus import BusRetry, EventBus
from stacks.deliveries import QueueDelivery, RuleDelivery, SubscriberDelivery
from stacks.delivery import Delivery
from stacks.retries import Layer, TwoLayersRetryError
from stacks.worker import Shared, Worker
from tests.stacks.templates import Templates

from aws_cdk import App, Duration, RemovalPolicy, Stack  # isort: skip -- after stacks, which chooses the Node
from aws_cdk import aws_events as events  # isort: skip
from aws_cdk import aws_eventsv2 as eventsv2  # isort: skip
from aws_cdk import aws_lambda as lambda_  # isort: skip
from aws_cdk import aws_sns as sns  # isort: skip

ORDERS = {"source": ["shop"], "detail-type": ["order.placed"]}


class Consumers:
    """A stack that consumers are added to, synthesized once they are there."""

    def __init__(self, folder: Path) -> None:
        self._app = App(outdir=str(folder), analytics_reporting=False)
        self.stack = Stack(self._app, "Consumers")
        self.bus = EventBus(eventsv2.CfnEventBus(self.stack, "Bus", name="orders"))
        self._folder = folder
        self._shared = Shared(
            deployment="Trial",
            code=lambda_.Code.from_inline("def handler(event, context): pass"),
            alerts=sns.Topic(self.stack, "Alerts"),
            log_retention_days=1,
            removal_policy=RemovalPolicy.DESTROY,
        )

    def add(self, name: str, delivery: Delivery, *, timeout_s: int = 20, own_layers: tuple[Layer, ...] = ()) -> Worker:
        return Worker(
            self.stack,
            name.capitalize(),
            name=name,
            shared=self._shared,
            handler="index.handler",
            delivery=delivery,
            environment={"ANSWER": "42"},
            statements=[],
            timeout=Duration.seconds(timeout_s),
            memory_mb=256,
            own_layers=own_layers,
        )

    def direct(self, name: str, **choices: object) -> SubscriberDelivery:
        return SubscriberDelivery(bus=self.bus, subscriber_name=name, pattern=ORDERS, **choices)

    def queued(self, name: str) -> QueueDelivery:
        return QueueDelivery(
            bus=self.bus, subscriber_name=name, pattern=ORDERS, max_receives=3, batch_size=5, concurrency=2
        )

    def templates(self) -> Templates:
        self._app.synth()
        return Templates.read(self._folder)


@pytest.fixture
def consumers(tmp_path: Path) -> Consumers:
    return Consumers(tmp_path)


def test_light_work_is_delivered_one_event_at_a_time_and_its_answer_is_the_delivery(consumers: Consumers) -> None:
    worker = consumers.add("mail", consumers.direct("mail"))
    found = consumers.templates()
    (subscriber,) = found.of_type("AWS::EventsV2::Subscriber")
    properties = subscriber.properties
    assert properties["BatchConfiguration"] == {"MaxBatchSize": 1}
    assert properties["InvokeConfiguration"]["LambdaParameters"] == {
        "InvocationType": "REQUEST_RESPONSE",
        "InvocationTimeoutSeconds": "30",
    }
    function = found.named(properties["InvokeConfiguration"]["TargetArn"], subscriber)
    role = found.named(properties["InvokeConfiguration"]["RoleArn"], subscriber)
    dead_letters = found.named(properties["OnFailureConfiguration"]["Arn"], subscriber)
    assert found.may(role, "lambda:InvokeFunction", function)
    assert found.may(role, "sqs:SendMessage", dead_letters)
    assert list(worker.dead_letters) == ["mail-subscriber-dlq"]
    assert worker.retries.runs == 6
    (config,) = found.of_type("AWS::Lambda::EventInvokeConfig")
    assert config.properties["MaximumRetryAttempts"] == 0


@pytest.mark.parametrize("timeout_s", [30, 60])
def test_a_function_that_may_outlive_a_direct_delivery_is_refused(consumers: Consumers, timeout_s: int) -> None:
    with pytest.raises(ValueError, match=f"worker slow: its timeout of {timeout_s} s must be under 30 s"):
        consumers.add("slow", consumers.direct("slow"), timeout_s=timeout_s)


def test_costly_work_is_delivered_through_a_queue_that_the_function_may_manage(consumers: Consumers) -> None:
    worker = consumers.add("score", consumers.queued("score"))
    found = consumers.templates()
    function = found.worker_functions()["score"]
    (mapping,) = found.of_type("AWS::Lambda::EventSourceMapping")
    queue = found.named(mapping.properties["EventSourceArn"], mapping)
    dead_letters = found.named(queue.properties["RedrivePolicy"]["deadLetterTargetArn"], queue)
    role = found.role_of(function)
    for action in ("ReceiveMessage", "DeleteMessage", "GetQueueAttributes", "ChangeMessageVisibility", "SendMessage"):
        assert found.may(role, f"sqs:{action}", queue)
    assert found.may(role, "sqs:SendMessage", dead_letters)
    variables = function.properties["Environment"]["Variables"]
    assert found.named(variables["SCORE_QUEUE_URL"], function) == queue
    assert found.named(variables["SCORE_DLQ_URL"], function) == dead_letters
    assert variables["ANSWER"] == "42"
    assert list(worker.dead_letters) == ["score-subscriber-dlq", "score-dlq"]
    assert worker.retries.runs == 3


def test_a_rules_event_is_tried_as_often_as_lambda_is_told_to(consumers: Consumers) -> None:
    nightly = RuleDelivery(
        schedule=events.Schedule.rate(Duration.days(1)), description="Every night", async_retries=2, rule_retries=7
    )
    worker = consumers.add("nightly", nightly)
    found = consumers.templates()
    (rule,) = found.of_type("AWS::Events::Rule")
    assert rule.properties["Targets"][0]["RetryPolicy"] == {
        "MaximumRetryAttempts": 7,
        "MaximumEventAgeInSeconds": 86_400,
    }
    (config,) = found.of_type("AWS::Lambda::EventInvokeConfig")
    assert config.properties["MaximumRetryAttempts"] == 2
    assert list(worker.dead_letters) == ["nightly-rule-dlq", "nightly-failures"]
    assert worker.retries.runs == 3


def test_subscribers_of_a_bus_are_created_one_after_the_other(consumers: Consumers) -> None:
    for name in ("first", "second", "third"):
        consumers.add(name, consumers.queued(name))
    found = consumers.templates()
    by_name = {each.properties["Name"]: each for each in found.of_type("AWS::EventsV2::Subscriber")}
    assert "DependsOn" not in by_name["first"].body
    assert by_name["second"].body["DependsOn"] == [by_name["first"].logical_id]
    assert by_name["third"].body["DependsOn"] == [by_name["second"].logical_id]


def test_a_worker_whose_own_code_retries_beside_its_delivery_is_refused(consumers: Consumers) -> None:
    with pytest.raises(TwoLayersRetryError, match=r"worker twice: the queue \(3 attempts\) and the SDK \(2 attempts\)"):
        consumers.add("twice", consumers.queued("twice"), own_layers=(Layer("the SDK", 2),))


def test_a_worker_may_retry_inside_when_nothing_outside_does(consumers: Consumers) -> None:
    once = consumers.direct("once", retry=BusRetry(attempts=0))
    assert consumers.add("once", once, own_layers=(Layer("the SDK", 2),)).retries.runs == 2
