"""Every failure that ends in a dead-letter queue moves an alarm to ALARM and back, the second one as well as the first.

The synthesized alarms, over the metrics that AWS documents, minute by minute; time is simulated.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from local.alarms.datapoints import Metric
from tests.stacks.alarm_failures import READINGS, Failure, Reading, failures
from tests.stacks.alarm_world import Change, Watch, alarm_properties
from tests.stacks.templates import Resource, Templates
from tests.stacks.test_alarms import alarms
from tests.stacks.test_dead_letters import dead_letter_queues, rule_targets

HEARD_WITHIN = 2
"""Minutes from a failure to its notice: the one it happens in, and one for the queue that SQS reports of."""
OVER_WITHIN = 22
"""Minutes from a failure to OK: CloudWatch lets the last value of a metric that fell silent count, and an alarm on
errors looks back for the longest timeout."""
AT_REST = 16
"""Minutes after which the schedule was measured for as long as its alarm looks."""
ELSEWHERE = ("-depth", "-schedule-silent", "-queue-stuck", "-queue-age", "-errors", "-throttles")
"""Alarms with a test of their own, here or in test_alarms.py."""


def schedule_alarms(templates: Templates) -> dict[str, str]:
    """The alarm on the silence of each function that a schedule runs."""
    names = {function: name for name, function in templates.worker_functions().items()}
    run = [
        templates.named(target["Arn"], rule)
        for rule, target in rule_targets(templates)
        if "ScheduleExpression" in rule.properties
    ]
    return {repr(function): f"{names[function]}-schedule-silent" for function in run}


def watch(templates: Templates) -> Watch:
    """At rest: deployed a while ago, used a little, nothing wrong."""
    found = Watch(alarm_properties(templates), set(schedule_alarms(templates)))
    found.minutes(AT_REST)
    found.notices.clear()
    return found


def rung(changes: Sequence[Change]) -> set[str]:
    return {change.alarm for change in changes if (change.old, change.new) == ("OK", "ALARM")}


def happen(watched: Watch, failure: Failure) -> set[str]:
    """The alarms that this failure moves from OK to ALARM."""
    if failure.fills is not None:
        watched.depths[failure.fills] = watched.depths.get(failure.fills, 0) + 1
    return rung(watched.minute(*failure.emitted) + watched.minutes(HEARD_WITHIN - 1))


@pytest.fixture(scope="module", params=READINGS, ids=[reading.dlq + " " + reading.bus for reading in READINGS])
def reading(request: pytest.FixtureRequest) -> Reading:
    found: Reading = request.param
    return found


def test_at_rest_every_alarm_is_ok_and_nobody_is_told_of_anything(each_templates: Templates) -> None:
    watched = watch(each_templates)
    assert set(watched.states.values()) == {"OK"}
    assert watched.minutes(60) == []


def test_every_failure_is_told_and_over_and_told_again(each_templates: Templates, reading: Reading) -> None:
    watched = watch(each_templates)
    for failure in failures(each_templates, reading):
        watched.notices.clear()
        for time in (1, 2):
            assert failure.tells in happen(watched, failure), failure.kind
            assert watched.notices[failure.tells, "ALARM"] == time, failure.kind
            watched.depths = dict.fromkeys(watched.depths, 0)
            watched.minutes(OVER_WITHIN)
            assert watched.on() == set(), failure.kind


def test_a_second_failure_is_told_though_nobody_emptied_the_queue_of_the_first(
    each_templates: Templates, reading: Reading
) -> None:
    watched = watch(each_templates)
    for failure in failures(each_templates, reading) * 2:
        assert failure.tells in happen(watched, failure), failure.kind
        watched.minutes(OVER_WITHIN)
    assert watched.on() == {name for name in watched.alarms if name.endswith("-depth")}


def test_each_is_told_of_by_the_alarm_on_its_queue_too(each_templates: Templates, reading: Reading) -> None:
    queues = {repr(queue) for queue in dead_letter_queues(each_templates)}
    filled = [failure for failure in failures(each_templates, reading) if failure.fills]
    assert {failure.fills for failure in filled} == queues
    watched = watch(each_templates)
    for failure in filled:
        assert any(name.endswith("-depth") for name in happen(watched, failure)), failure.kind
        watched.depths.clear()
        watched.minutes(OVER_WITHIN)


def test_an_alarm_on_a_queue_lasts_and_says_when_it_is_empty(each_templates: Templates) -> None:
    watched = watch(each_templates)
    for queue in map(repr, dead_letter_queues(each_templates)):
        watched.notices.clear()
        watched.depths[queue] = 1
        (name,) = rung(watched.minutes(HEARD_WITHIN))
        watched.minutes(60)
        assert watched.on() == {name}
        watched.depths[queue] = 0
        watched.minutes(1)
        assert watched.on() == set()
        assert watched.notices == {(name, "ALARM"): 1, (name, "OK"): 1}


def test_empty_queues_that_sqs_stops_reporting_of_are_no_trouble(each_templates: Templates) -> None:
    """It does so after hours in which nothing touched a queue, and an idle deployment is not one without data."""
    watched = watch(each_templates)
    watched.depths = dict.fromkeys(map(repr, dead_letter_queues(each_templates)), 0)
    watched.minutes(3)
    watched.depths.clear()
    assert watched.minutes(60) == []
    assert set(watched.states.values()) == {"OK"}


def test_an_invocation_that_ran_into_its_timeout_is_told_though_its_error_is_stamped_with_its_begin(
    each_templates: Templates,
) -> None:
    watched = watch(each_templates)
    for name, function in each_templates.worker_functions().items():
        error = Metric.of("AWS/Lambda", "Errors", {"FunctionName": repr(function)}), 1.0
        changes = watched.minute(error, ago_s=function.properties["Timeout"])
        assert rung(changes + watched.minutes(1)) == {f"{name}-errors"}
        watched.minutes(OVER_WITHIN)


def test_ticks_that_stop_without_a_failure_are_told_and_their_return_too(each_templates: Templates) -> None:
    watched = watch(each_templates)
    silent = set(schedule_alarms(each_templates).values())
    assert watched.minutes(14, ticks=False) == []
    assert rung(watched.minutes(6, ticks=False)) == silent
    watched.minutes(24 * 60, ticks=False)
    assert watched.on() == silent
    watched.minutes(10)
    assert watched.notices == {(name, state): 1 for name in silent for state in ("ALARM", "OK")}


def test_one_schedule_that_stops_is_told_by_its_own_alarm_alone(each_templates: Templates) -> None:
    watched = watch(each_templates)
    for function, silent in schedule_alarms(each_templates).items():
        watched.scheduled.remove(function)
        assert rung(watched.minutes(20)) == {silent}
        watched.scheduled.add(function)
        watched.minutes(10)
        assert watched.on() == set()


def work_queues(templates: Templates) -> list[Resource]:
    return [
        templates.named(mapping.properties["EventSourceArn"], mapping)
        for mapping in templates.of_type("AWS::Lambda::EventSourceMapping")
    ]


def test_messages_that_nothing_takes_are_told_and_a_slow_queue_is_not(each_templates: Templates) -> None:
    for queue in map(repr, work_queues(each_templates)):
        watched = watch(each_templates)
        taken = Metric.of("AWS/SQS", "NumberOfMessagesReceived", {"QueueName": queue}), 1.0
        watched.depths[queue] = 100_000
        assert [change for _ in range(60) for change in watched.minute(taken)] == []
        assert watched.minutes(14) == []
        (stuck,) = rung(watched.minutes(3))
        assert stuck.endswith("-queue-stuck")
        watched.minute(taken)
        assert watched.on() == set()


def test_a_queue_whose_messages_were_never_taken_is_told_too(each_templates: Templates) -> None:
    for queue in map(repr, work_queues(each_templates)):
        watched = watch(each_templates)
        watched.depths[queue] = 1
        assert {name[-6:] for name in rung(watched.minutes(20))} == {"-stuck"}


def test_a_message_that_waits_for_a_day_is_told(each_templates: Templates) -> None:
    for queue in map(repr, work_queues(each_templates)):
        watched = watch(each_templates)
        watched.waiting_s[queue] = 24 * 3600 - 60
        assert watched.minutes(5) == []
        watched.waiting_s[queue] += 60
        (old,) = rung(watched.minutes(2))
        assert old.endswith("-queue-age")
        watched.waiting_s[queue] = 60
        watched.minutes(1)
        assert watched.notices == {(old, "ALARM"): 1, (old, "OK"): 1}


def test_every_alarm_is_rung_by_a_failure_of_this_file_or_counts_what_a_function_says(
    each_templates: Templates, reading: Reading
) -> None:
    by_failure = {failure.tells for failure in failures(each_templates, reading)}
    elsewhere = {
        name
        for name, each in alarm_properties(each_templates).items()
        if name.endswith(ELSEWHERE) or not each.get("Namespace", "AWS/").startswith("AWS/")
    }
    assert by_failure | elsewhere == alarm_properties(each_templates).keys()


def test_every_alarm_tells_the_topic(each_templates: Templates) -> None:
    (topic,) = each_templates.of_type("AWS::SNS::Topic")
    assert all(
        each_templates.named(each, alarm) == topic
        for alarm in alarms(each_templates)
        for each in alarm.properties["AlarmActions"]
    )
