"""What AWS emits for every failure that ends in a dead-letter queue, or should have, of a set of templates.

Names, spellings and dimensions as AWS documents them: EventBridge's user guide (metrics of the classic bus, of the
Custom Event Bus), Lambda's developer guide (function metrics), SQS's and Step Functions' (CloudWatch metrics). Where
the pages contradict each other, a `Reading` says which is meant, and the alarms must hold under each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from functions.classify.report import METRIC_OF
from functions.refunds.adapters import paying
from local.alarms.datapoints import Metric
from tests.stacks.templates import Resource, Templates
from tests.stacks.test_dead_letters import rule_targets

Emitted = Sequence[tuple[Metric, float]]


@dataclass(frozen=True)
class Reading:
    """`dlq`: Dlq in EventBridge's table of metrics, DLQ in its page about dead-letter queues.

    `bus`: the value of a subscriber's dimensions, an ARN on one page, a name on another.
    """

    dlq: str
    bus: str


READINGS = [
    Reading("Dlq", "arn:aws:events:eu-west-1:123456789012:{kind}/{name}/abc"),
    Reading("DLQ", "{name}"),
    Reading("Dlq", "{name}/abc"),
]


OWN_DEAD_LETTERS = {
    "classify": {
        METRIC_OF["failed"]: "rows-failed",
        METRIC_OF["malformed"]: "events-malformed",
        METRIC_OF["given_up"]: "rows-given-up",
        METRIC_OF["error"]: "row-errors",
    },
    "refund-queue": {
        paying.FAILED: "refunds-failed",
        paying.REFUSED: "refunds-refused",
        paying.KEYS_REUSED: "keys-reused",
        paying.GIVEN_UP: "messages-given-up",
        paying.ERRORS: "errors-of-records",
    },
}
"""Of each function that a queue drives: what it counts when it gives a message up, at once or to redrive, and its
alarm."""


@dataclass(frozen=True)
class Failure:
    """`fills` is the dead-letter queue that gets a message, if any; `tells` the alarm made for this failure."""

    kind: str
    emitted: Emitted
    tells: str
    fills: str | None = None


def failures(templates: Templates, reading: Reading) -> list[Failure]:
    names = {function: name for name, function in templates.worker_functions().items()}
    return [
        *_of_rules(templates, names, reading),
        *_of_asynchronous_invocations(templates, names),
        *_of_subscribers(templates, reading),
        *_of_queues(templates, names),
        *_of_workflows(templates),
    ]


def _of_rules(templates: Templates, names: dict[Resource, str], reading: Reading) -> Iterator[Failure]:
    for rule, target in rule_targets(templates):
        name = names[templates.named(target["Arn"], rule)]
        queue = repr(templates.named(target["DeadLetterConfig"]["Arn"], rule))

        def of_rule(metric: str, rule: Resource = rule) -> tuple[Metric, float]:
            return Metric.of("AWS/Events", metric, {"RuleName": repr(rule)}), 1

        failed = of_rule("FailedInvocations")
        sent, not_sent = f"InvocationsSentTo{reading.dlq}", f"InvocationsFailedToBeSentTo{reading.dlq}"
        yield Failure("a rule's target not invocable", [failed, of_rule(sent)], f"{name}-rule-sent-to-dlq", queue)
        yield Failure("a rule's DLQ not writable", [failed, of_rule(not_sent)], f"{name}-rule-dlq-not-writable")


def _of_asynchronous_invocations(templates: Templates, names: dict[Resource, str]) -> Iterator[Failure]:
    for config in templates.of_type("AWS::Lambda::EventInvokeConfig"):
        if "DestinationConfig" not in config.properties:
            continue
        function = templates.named(config.properties["FunctionName"], config)
        name, attempts = names[function], 1 + config.properties["MaximumRetryAttempts"]
        queue = repr(templates.named(config.properties["DestinationConfig"]["OnFailure"]["Destination"], config))
        dropped = _of_function(function, "AsyncEventsDropped")
        errors = [_of_function(function, "Errors")] * attempts
        yield Failure("an asynchronous event given up", [*errors, dropped], f"{name}-errors", queue)
        throttles = [_of_function(function, "Throttles")] * 3
        yield Failure("an asynchronous event throttled too long", [*throttles, dropped], f"{name}-throttles", queue)
        lost = _of_function(function, "DestinationDeliveryFailures")
        yield Failure("an on-failure queue not writable", [*errors, dropped, lost], f"{name}-failures-not-writable")


def _of_subscribers(templates: Templates, reading: Reading) -> Iterator[Failure]:
    for subscriber in templates.of_type("AWS::EventsV2::Subscriber"):
        queue = repr(templates.named(subscriber.properties["OnFailureConfiguration"]["Arn"], subscriber))
        dimensions = {
            "EventBus": reading.bus.format(kind="event-busv2", name="orders"),
            "Subscriber": reading.bus.format(kind="subscriber", name=subscriber.properties["Name"]),
        }
        delivered, failed, dropped = (
            (Metric.of("AWS/EventsV2", metric, dimensions), 1.0)
            for metric in ("OnFailureDestinationDelivered", "OnFailureDestinationFailed", "EventsDropped")
        )
        yield Failure("a subscriber's target not reachable", [delivered], "bus-sent-to-dlq", queue)
        yield Failure("a subscriber's DLQ not writable", [failed], "bus-dlq-not-writable")
        yield Failure("events dropped by the bus", [dropped], "bus-dropped")


def _of_queues(templates: Templates, names: dict[Resource, str]) -> Iterator[Failure]:
    for mapping in templates.of_type("AWS::Lambda::EventSourceMapping"):
        function = templates.named(mapping.properties["FunctionName"], mapping)
        work = templates.named(mapping.properties["EventSourceArn"], mapping)
        queue = repr(templates.named(work.properties["RedrivePolicy"]["deadLetterTargetArn"], work))
        receives = work.properties["RedrivePolicy"]["maxReceiveCount"]
        errors = [_of_function(function, "Errors")] * receives
        yield Failure("a message redriven after kills and errors", errors, f"{names[function]}-errors", queue)
        yield from _of_own_dead_letters(function, names[function], queue)


def _of_own_dead_letters(function: Resource, name: str, queue: str) -> Iterator[Failure]:
    """Messages that the function itself gave up, at once or through redrive; all it emits then are its own counts."""
    variables = function.properties["Environment"]["Variables"]
    for counted, alarm in OWN_DEAD_LETTERS[name].items():
        metric = Metric.of(variables["POWERTOOLS_METRICS_NAMESPACE"], counted, {"service": name})
        yield Failure(f"a message dead-lettered, counted as {counted}", [(metric, 1)], f"{name}-{alarm}", queue)


def _of_workflows(templates: Templates) -> Iterator[Failure]:
    for machine in templates.of_type("AWS::StepFunctions::StateMachine"):
        failed = Metric.of("AWS/States", "ExecutionsFailed", {"StateMachineArn": repr(machine)}), 1.0
        yield Failure("an execution that failed", [failed], "refund-workflow-failed")


def _of_function(function: Resource, metric: str) -> tuple[Metric, float]:
    return Metric.of("AWS/Lambda", metric, {"FunctionName": repr(function)}), 1
