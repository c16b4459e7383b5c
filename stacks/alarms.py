"""Alarms: what goes beyond which limit, and words: which failure it is for, what to do first."""

from __future__ import annotations

import math
from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from stacks.alarm_math import interval_of, runs, sent_to_dlq, taken_where_any_wait
from stacks.queues import WORK_KEPT

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


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What an alarm compares its metric with: in each of `periods` periods, or in `needed` of them.

    `says_ok`: also notify when it is over. For states that last until somebody acts (a queue with messages); a count
    of one minute is always over minutes later, and a mail saying so is noise.
    """

    threshold: float = 1
    periods: int = 1
    needed: int | None = None
    comparison: cloudwatch.ComparisonOperator = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
    # Failure metrics are only emitted when something failed.
    missing: cloudwatch.TreatMissingData = cloudwatch.TreatMissingData.NOT_BREACHING
    says_ok: bool = False


FIRST_FAILURE = Limit()
ANY_MESSAGE = Limit(says_ok=True)
A_DAY = Limit(threshold=24 * 3600, says_ok=True)
NOTHING_TAKEN = Limit(periods=15, comparison=cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD, says_ok=True)
SILENCE = Limit(
    periods=3,
    comparison=cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
    # What never ran has no metric at all.
    missing=cloudwatch.TreatMissingData.BREACHING,
    says_ok=True,
)


class Alarms(Construct):
    """Makes alarms named `<prefix>-<what>` that notify one topic; `prefix` is the deployment's name.

    `made` are all of them, for a dashboard.
    """

    def __init__(self, scope: Construct, construct_id: str, *, prefix: str, topic: sns.ITopic) -> None:
        super().__init__(scope, construct_id)
        self._prefix = prefix
        self._topic = topic
        self.made: list[cloudwatch.IAlarm] = []

    def add(
        self, what: str, metric: cloudwatch.IMetric, *, failure: str, first: str, limit: Limit = FIRST_FAILURE
    ) -> None:
        """Alarm as soon as `metric` goes beyond `limit`. `failure` and `first` are sentences."""
        alarm = cloudwatch.Alarm(
            self,
            _pascal(what),
            alarm_name=f"{self._prefix}-{what}",
            alarm_description=f"{failure}{FIRST}{first}",
            metric=metric,
            threshold=limit.threshold,
            evaluation_periods=limit.periods,
            datapoints_to_alarm=limit.needed or limit.periods,
            comparison_operator=limit.comparison,
            treat_missing_data=limit.missing,
        )
        alarm.add_alarm_action(actions.SnsAction(self._topic))
        self.made.append(alarm)
        if limit.says_ok:
            alarm.add_ok_action(actions.SnsAction(self._topic))

    def queue_depth(self, name: str, queue: sqs.IQueue, failure: str, first: str) -> None:
        """`failure` completes "holds messages: …"."""
        metric = queue.metric_approximate_number_of_messages_visible(period=MINUTE, statistic="Maximum")
        failure = f"The dead-letter queue {name} holds messages: {failure}"
        self.add(f"{name}-depth", metric, failure=failure, first=first, limit=ANY_MESSAGE)

    def function_failures(
        self, name: str, function: lambda_.IFunction, timeout: Duration, on_error: Words | None = None
    ) -> None:
        """`on_error`: what an error of this function means, where it means more than that."""
        words = on_error or Words(
            f"The function {name} ended an invocation with an error, a timeout or a kill.",
            "Read the last lines of its log group at that minute; a timeout says so, a kill ends without a line.",
        )
        errors = function.metric_errors(period=MINUTE, statistic="Sum")
        # Lambda stamps an error with the begin of its invocation: that of a timeout arrives as late as the timeout is.
        late = Limit(periods=2 + math.ceil(timeout.to_minutes(integral=False)), needed=1)
        self.add(f"{name}-errors", errors, failure=words.failure, first=words.first, limit=late)
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
        """For a rule on the default bus."""
        self.add(
            f"{name}-rule-sent-to-dlq",
            sent_to_dlq(rule, "InvocationsSentToDlq", MINUTE),
            failure=f"EventBridge could not hand an event to the function {name} and put it into the rule's "
            "dead-letter queue.",
            first=f"Read ERROR_CODE and ERROR_MESSAGE among the attributes of a message in {name}-rule-dlq.",
        )
        self.add(
            f"{name}-rule-dlq-not-writable",
            sent_to_dlq(rule, "InvocationsFailedToBeSentToDlq", MINUTE),
            failure=f"EventBridge could not hand an event to the function {name}, nor put it into the rule's "
            "dead-letter queue: the event is lost.",
            first="Deploy again, which writes the queue's policy anew. A lost tick needs nothing; a file whose event "
            "was lost is found by the sweep.",
        )

    def on_failure_failures(self, name: str, function: lambda_.IFunction, lost: str) -> None:
        """For a function with an on-failure destination. `lost`: what to do about a lost event, in a sentence."""
        self.add(
            f"{name}-failures-not-writable",
            function.metric("DestinationDeliveryFailures", period=MINUTE, statistic="Sum"),
            failure=f"Lambda gave an event of the function {name} up and could not put it into {name}-failures: the "
            "event is lost.",
            first=f"Deploy again, which writes the function's role anew. {lost}",
        )

    def schedule_silence(self, name: str, function: lambda_.IFunction, schedule: events.Schedule) -> None:
        """For a function that a schedule runs: when it stops, nothing fails, and no other alarm goes off."""
        period = Duration.seconds(max(300, int(interval_of(schedule).to_seconds())))
        self.add(
            f"{name}-schedule-silent",
            runs(function, period),
            failure=f"The schedule has not run the function {name} for {3 * period.to_minutes():g} minutes, without "
            "any failure: what it does by the clock stands still.",
            first="Look whether the rule is enabled and the function still its target; deploying again writes both "
            "anew. After the first deployment this alarm is on until the first runs are measured.",
            limit=SILENCE,
        )

    def queue_lag(self, name: str, queue: sqs.IQueue, too_slow: str) -> None:
        """For the queue that the function `name` is driven by. `too_slow`: what to do first about a long wait."""
        self.add(
            f"{name}-queue-stuck",
            taken_where_any_wait(queue, MINUTE),
            failure=f"Messages wait for the function {name}, and for 15 minutes none was taken from the queue, without "
            "any failure.",
            first="Look whether the function's event source mapping is enabled and its state says a problem; deploying "
            "again writes it anew.",
            limit=NOTHING_TAKEN,
        )
        self.add(
            f"{name}-queue-age",
            queue.metric_approximate_age_of_oldest_message(period=MINUTE, statistic="Maximum"),
            failure=f"A message has waited for the function {name} for a day: more arrives than is worked off. After "
            f"{WORK_KEPT.to_days():g} days the queue forgets it.",
            first=too_slow,
            limit=A_DAY,
        )


def own_metric(deployment: str, worker: str, name: str) -> cloudwatch.Metric:
    """The sum a minute of what a worker counts itself; Powertools puts it into the namespace that the worker is told,
    with the worker's name as the one dimension."""
    return cloudwatch.Metric(
        namespace=deployment, metric_name=name, dimensions_map={"service": worker}, statistic="Sum", period=MINUTE
    )


def _pascal(kebab: str) -> str:
    return "".join(part.capitalize() for part in kebab.split("-"))
