"""Alarms: one minute, one datapoint, absent data is health, and words: which failure it is for, what to do first."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

MINUTE = Duration.minutes(1)

FIRST = " First: "
"""Stands in an alarm's description between the failure and what to do about it; `docs/alarms.md` is split there."""


@dataclass(frozen=True, kw_only=True)
class FailureMetric:
    """A metric that a function emits about itself when something failed, and what its alarm says."""

    metric: str
    what: str
    failure: str
    first: str


@dataclass(frozen=True)
class Words:
    """What an alarm says: the failure it is for, and what to do first."""

    failure: str
    first: str


class Alarms(Construct):
    """Makes alarms named `<prefix>-<what>` that notify one topic; `prefix` is the deployment's name.

    `made` are all of them, for a dashboard.
    """

    def __init__(self, scope: Construct, construct_id: str, *, prefix: str, topic: sns.ITopic) -> None:
        super().__init__(scope, construct_id)
        self._prefix = prefix
        self._topic = topic
        self.made: list[cloudwatch.IAlarm] = []

    def add(self, what: str, metric: cloudwatch.IMetric, *, failure: str, first: str, says_ok: bool = False) -> None:
        """Alarm as soon as `metric` is 1 or more in a minute. `failure` and `first` are sentences.

        `says_ok`: also notify when it is over. For states that last until somebody acts (a queue with messages);
        a count of one minute is always over a minute later, and a mail saying so is noise.
        """
        alarm = cloudwatch.Alarm(
            self,
            _pascal(what),
            alarm_name=f"{self._prefix}-{what}",
            alarm_description=f"{failure}{FIRST}{first}",
            metric=metric,
            threshold=1,
            evaluation_periods=1,
            datapoints_to_alarm=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            # Failure metrics are only emitted when something failed.
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(actions.SnsAction(self._topic))
        self.made.append(alarm)
        if says_ok:
            alarm.add_ok_action(actions.SnsAction(self._topic))

    def queue_depth(self, name: str, queue: sqs.IQueue, failure: str, first: str) -> None:
        """`failure` completes "holds messages: …"."""
        metric = queue.metric_approximate_number_of_messages_visible(period=MINUTE, statistic="Maximum")
        failure = f"The dead-letter queue {name} holds messages: {failure}"
        self.add(f"{name}-depth", metric, failure=failure, first=first, says_ok=True)

    def function_failures(self, name: str, function: lambda_.IFunction, on_error: Words | None = None) -> None:
        """`on_error`: what an error of this function means, where it means more than that."""
        words = on_error or Words(
            f"The function {name} ended an invocation with an error, a timeout or a kill.",
            "Read the last lines of its log group at that minute; a timeout says so, a kill ends without a line.",
        )
        errors = function.metric_errors(period=MINUTE, statistic="Sum")
        self.add(f"{name}-errors", errors, failure=words.failure, first=words.first)
        throttles = function.metric_throttles(period=MINUTE, statistic="Sum")
        self.add(
            f"{name}-throttles",
            throttles,
            failure=f"Lambda refused to run the function {name}: its concurrency is used up.",
            first="Compare the account's concurrent executions with its quota in this Region; have the quota raised.",
        )

    def own_metric(self, name: str, own: FailureMetric) -> None:
        """On a metric that the function `name` emits with its service name as the one dimension."""
        metric = own_metric(self._prefix, name, own.metric)
        self.add(f"{name}-{own.what}", metric, failure=own.failure, first=own.first)

    def rule_failures(self, name: str, rule: events.IRule) -> None:
        """For a rule on the default bus: its metrics then have the single dimension RuleName."""
        sent = cloudwatch.MathExpression(
            # AWS documents this name in both spellings and CloudWatch is case-sensitive; a spelling that is never
            # emitted has no data at all, so it is filled and summed as an array (a plain + of nothing is nothing).
            expression="SUM([FILL(dlq, 0), FILL(upper, 0)])",
            using_metrics={
                "dlq": _rule_metric("InvocationsSentToDlq", rule),
                "upper": _rule_metric("InvocationsSentToDLQ", rule),
            },
            period=MINUTE,
            label="Invocations sent to the dead-letter queue",
        )
        self.add(
            f"{name}-rule-sent-to-dlq",
            sent,
            failure=f"EventBridge could not hand an event to the function {name} and put it into the rule's "
            "dead-letter queue.",
            first=f"Read ERROR_CODE and ERROR_MESSAGE among the attributes of a message in {name}-rule-dlq.",
        )
        self.add(
            f"{name}-rule-dlq-not-writable",
            _rule_metric("InvocationsFailedToBeSentToDlq", rule),
            failure=f"EventBridge could not hand an event to the function {name}, nor put it into the rule's "
            "dead-letter queue: the event is lost.",
            first="Deploy again, which writes the queue's policy anew. A lost tick needs nothing; a file whose event "
            "was lost is found by the sweep.",
        )


def own_metric(deployment: str, worker: str, name: str) -> cloudwatch.Metric:
    """The sum a minute of what a worker counts itself; Powertools puts it into the namespace that the worker is told,
    with the worker's name as the one dimension."""
    return cloudwatch.Metric(
        namespace=deployment, metric_name=name, dimensions_map={"service": worker}, statistic="Sum", period=MINUTE
    )


def _rule_metric(name: str, rule: events.IRule) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace="AWS/Events",
        metric_name=name,
        dimensions_map={"RuleName": rule.rule_name},
        statistic="Sum",
        period=MINUTE,
    )


def _pascal(kebab: str) -> str:
    return "".join(part.capitalize() for part in kebab.split("-"))
