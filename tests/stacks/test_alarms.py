"""Whoever is on call hears of every failure, and never of health."""

from __future__ import annotations

from typing import Any

import pytest

from bench.bill import ALARM_METRICS, DASHBOARDS, REFUND_ALARM_METRICS
from local.alarms.emitted import is_silent, not_emitted
from stacks.alarms import FIRST
from tests.stacks.alarm_world import alarm_properties
from tests.stacks.templates import Resource, Templates
from tests.stacks.test_dead_letters import dead_letter_queues, rule_targets


def alarms(templates: Templates) -> list[Resource]:
    return templates.of_type("AWS::CloudWatch::Alarm")


def on(templates: Templates, namespace: str, metric: str, dimension: str) -> dict[Resource, Resource]:
    """The alarms on this metric, by the resource that the dimension's value names."""
    found: dict[Resource, Resource] = {}
    for alarm in alarms(templates):
        properties = alarm.properties
        if (properties.get("Namespace"), properties.get("MetricName")) == (namespace, metric):
            ((name, value),) = [(each["Name"], each["Value"]) for each in properties["Dimensions"]]
            assert name == dimension
            found[templates.named(value, alarm)] = alarm
    return found


def test_every_alarm_notifies_the_alerts_topic_and_takes_silence_for_health(each_templates: Templates) -> None:
    (topic,) = each_templates.of_type("AWS::SNS::Topic")
    for alarm in alarms(each_templates):
        assert [each_templates.named(action, alarm) for action in alarm.properties["AlarmActions"]] == [topic]
        silence = "breaching" if alarm.properties["AlarmName"].endswith("-schedule-silent") else "notBreaching"
        assert alarm.properties["TreatMissingData"] == silence


def test_every_alarm_fires_on_the_first_failure_of_a_minute_but_those_on_what_takes_time(
    each_templates: Templates,
) -> None:
    for alarm in alarms(each_templates):
        properties = alarm.properties
        if not properties["AlarmName"].endswith(("-schedule-silent", "-queue-stuck", "-queue-age")):
            assert properties["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
            assert (properties["Threshold"], properties["DatapointsToAlarm"]) == (1, 1)
            assert properties["AlarmName"].endswith("-errors") or properties["EvaluationPeriods"] == 1


def test_every_alarm_says_which_failure_it_is_for_and_what_to_do_first(each_templates: Templates) -> None:
    descriptions = [alarm.properties["AlarmDescription"] for alarm in alarms(each_templates)]
    # CloudWatch takes 1,024 characters.
    assert all(len(text) <= 1024 for text in descriptions)
    for failure, first in (text.split(FIRST) for text in descriptions):
        assert all(text.endswith(".") and len(text.split()) > 6 for text in (failure, first))
    failures = [text.split(FIRST)[0] for text in descriptions]
    assert len(set(failures)) == len(failures)


def test_alarm_names_begin_with_the_deployment_and_are_unique(each_templates: Templates) -> None:
    names = [alarm.properties["AlarmName"] for alarm in alarms(each_templates)]
    deployment = each_templates.of_type("AWS::EventsV2::EventBus")[0].properties["Name"]
    assert all(name.startswith(f"{deployment}-") for name in names)
    assert len(set(names)) == len(names)


def test_every_dead_letter_queue_has_an_alarm_on_its_depth_that_also_says_when_it_is_empty(
    each_templates: Templates,
) -> None:
    depth = on(each_templates, "AWS/SQS", "ApproximateNumberOfMessagesVisible", "QueueName")
    assert depth.keys() == dead_letter_queues(each_templates)
    for alarm in depth.values():
        assert (alarm.properties["Statistic"], alarm.properties["Period"]) == ("Maximum", 60)
        assert alarm.properties["OKActions"] == alarm.properties["AlarmActions"]


@pytest.mark.parametrize("metric", ["Errors", "Throttles"])
def test_every_function_has_an_alarm_on_its_errors_and_throttles(each_templates: Templates, metric: str) -> None:
    found = on(each_templates, "AWS/Lambda", metric, "FunctionName")
    assert found.keys() == set(each_templates.of_type("AWS::Lambda::Function"))
    assert all((a.properties["Statistic"], a.properties["Period"]) == ("Sum", 60) for a in found.values())


@pytest.mark.parametrize("metric", ["InvocationsSentTo", "InvocationsFailedToBeSentTo"])
def test_every_rule_has_an_alarm_on_both_spellings_of_what_became_of_its_dead_letters(
    each_templates: Templates, metric: str
) -> None:
    watched = set()
    for alarm in alarms(each_templates):
        metrics: dict[str, Any] = {each["Id"]: each for each in alarm.properties.get("Metrics", [])}
        spelled = {
            each["MetricStat"]["Metric"]["MetricName"]: each for each in metrics.values() if "MetricStat" in each
        }
        if not any(name.startswith(metric) for name in spelled):
            continue
        assert spelled.keys() == {f"{metric}Dlq", f"{metric}DLQ"}
        (total,) = [each for each in metrics.values() if "Expression" in each]
        ids = [each["Id"] for each in spelled.values()]
        # A spelling without any data is nothing, and nothing + 1 is nothing: filled, and summed as an array.
        assert total["Expression"] == f"SUM([FILL({ids[0]}, 0), FILL({ids[1]}, 0)])"
        assert [each["Id"] for each in metrics.values() if each["ReturnData"]] == [total["Id"]]
        rules = {each_templates.named(only_dimension(each, "RuleName"), alarm) for each in spelled.values()}
        assert len(rules) == 1
        watched |= rules
    assert watched == {rule for rule, _ in rule_targets(each_templates)}


def only_dimension(metric: dict[str, Any], name: str) -> Any:
    (dimension,) = metric["MetricStat"]["Metric"]["Dimensions"]
    assert metric["MetricStat"]["Metric"]["Namespace"] == "AWS/Events"
    assert (metric["MetricStat"]["Stat"], metric["MetricStat"]["Period"]) == ("Sum", 60)
    assert dimension["Name"] == name
    return dimension["Value"]


def test_every_on_failure_destination_has_an_alarm_on_what_cannot_be_written_to_it(each_templates: Templates) -> None:
    found = on(each_templates, "AWS/Lambda", "DestinationDeliveryFailures", "FunctionName")
    assert found.keys() == {
        each_templates.named(config.properties["FunctionName"], config)
        for config in each_templates.of_type("AWS::Lambda::EventInvokeConfig")
        if "DestinationConfig" in config.properties
    }


def test_the_buss_own_failures_are_watched_without_naming_a_dimension_value(each_templates: Templates) -> None:
    queries = {
        each["Expression"]: each
        for alarm in alarms(each_templates)
        for each in alarm.properties.get("Metrics", [])
        if each.get("Expression", "").startswith("SELECT")
    }
    assert queries.keys() == {
        'SELECT SUM(OnFailureDestinationDelivered) FROM SCHEMA("AWS/EventsV2", EventBus, Subscriber)',
        'SELECT SUM(OnFailureDestinationFailed) FROM SCHEMA("AWS/EventsV2", EventBus, Subscriber)',
        'SELECT SUM(EventsDropped) FROM SCHEMA("AWS/EventsV2", EventBus, Subscriber)',
    }
    assert all(query["Period"] == 60 for query in queries.values())


def test_what_the_local_cloud_cannot_show_of_the_alarms_is_known(each_templates: Templates) -> None:
    """Of every alarm something is emitted there, so all can go off; of two spellings only the one of AWS's table is."""
    missing = {name: not_emitted(each) for name, each in alarm_properties(each_templates).items()}
    assert {metric for metrics in missing.values() for metric in metrics} == {
        "AWS/Events InvocationsSentToDLQ",
        "AWS/Events InvocationsFailedToBeSentToDLQ",
    }
    assert not any(is_silent(each) for each in alarm_properties(each_templates).values())


def test_an_alarm_on_what_the_local_cloud_does_not_emit_is_told_of() -> None:
    watched = {
        "Namespace": "AWS/Lambda",
        "MetricName": "IteratorAge",
        "Dimensions": [{"Name": "FunctionName", "Value": "f"}],
        "Statistic": "Maximum",
        "Period": 60,
        "EvaluationPeriods": 1,
        "Threshold": 1,
        "ComparisonOperator": "GreaterThanThreshold",
    }
    assert not_emitted(watched) == ["AWS/Lambda IteratorAge"]
    assert is_silent(watched)
    # The metric, but never with these dimensions.
    assert is_silent({**watched, "MetricName": "Errors", "Dimensions": []})
    assert not is_silent({**watched, "MetricName": "Errors"})


def test_the_bill_has_every_metric_that_an_alarm_watches_and_every_dashboard(templates: Templates) -> None:
    watched = {True: 0, False: 0}
    for alarm in alarms(templates):
        of_math = sum("MetricStat" in each for each in alarm.properties.get("Metrics", ()))
        watched[alarm.stack.endswith("Refund")] += of_math or 1
    assert watched == {False: ALARM_METRICS, True: REFUND_ALARM_METRICS}
    assert len(templates.of_type("AWS::CloudWatch::Dashboard")) == DASHBOARDS
