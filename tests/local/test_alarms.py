"""Deployed alarms in the running local cloud: they go off, come back and go off again, and whoever is to be told is.

A minute of metrics lasts a part of a second here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from local.running import ask
from tests.local.test_bus import bus, entry, subscriber
from tests.local.test_repairs import dlq_policy, pattern, permission, put_event, rule
from tests.local.toy import Toy, allow, arn, function, queue, ref, role, served, wait_for, working_role

GONE = "arn:aws:lambda:us-east-1:000000000000:function:gone"


@pytest.fixture(scope="module")
def toy() -> Iterator[Toy]:
    with served(tick_s=0.2, async_retry_s=0.05, bus_backoff_s=0.02, minute_s=0.3) as running:
        yield running


def alarm(name: str, **properties: Any) -> dict[str, Any]:
    common = {
        "AlarmName": name,
        "EvaluationPeriods": 1,
        "Threshold": 1,
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "TreatMissingData": "notBreaching",
        "AlarmActions": [ref("Topic")],
    }
    return {"Type": "AWS::CloudWatch::Alarm", "Properties": {**common, **properties}}


def metric(namespace: str, name: str, **dimensions: Any) -> dict[str, Any]:
    named = [{"Name": each, "Value": value} for each, value in dimensions.items()]
    return {"Namespace": namespace, "MetricName": name, "Dimensions": named}


def of_one(namespace: str, name: str, statistic: str = "Sum", **dimensions: Any) -> dict[str, Any]:
    return {**metric(namespace, name, **dimensions), "Statistic": statistic, "Period": 60}


def both_spellings(rule_name: Any) -> dict[str, Any]:
    def spelled(identifier: str, name: str) -> dict[str, Any]:
        stat = {"Metric": metric("AWS/Events", name, RuleName=rule_name), "Stat": "Sum", "Period": 60}
        return {"Id": identifier, "MetricStat": stat, "ReturnData": False}

    total = {"Id": "total", "Expression": "SUM([FILL(a, 0), FILL(b, 0)])", "ReturnData": True}
    return {"Metrics": [total, spelled("a", "InvocationsSentToDlq"), spelled("b", "InvocationsSentToDLQ")]}


TOPIC = {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {}}}


def states(toy: Toy, *names: str) -> list[str]:
    found = toy.clients.client("cloudwatch").describe_alarms(AlarmNames=list(names))["MetricAlarms"]
    by_name = {each["AlarmName"]: each["StateValue"] for each in found}
    return [by_name[name] for name in names]


def come_to(toy: Toy, state: str, *names: str) -> None:
    wait_for(lambda: set(states(toy, *names)) == {state})


def notices(toy: Toy, topic_arn: str) -> Counter[str]:
    """The subjects of what a topic has told so far, without the Region."""
    told = (notice for notice in ask(toy.clients.endpoint, "outbox") if notice["topic"] == topic_arn.rpartition(":")[2])
    return Counter(notice["subject"].removesuffix(" in us-east-1") for notice in told)


def told(toy: Toy, topic_arn: str, **counts: int) -> None:
    """Wait until the topic has told this, by alarm and state (`depth_ALARM=1`), and nothing else."""
    wanted = {f'{name.partition("_")[2]}: "{name.partition("_")[0]}"': count for name, count in counts.items()}
    wait_for(lambda: notices(toy, topic_arn) == wanted)


def test_a_rules_dead_letters_ring_come_to_rest_and_ring_again(toy: Toy) -> None:
    depth = of_one(
        "AWS/SQS", "ApproximateNumberOfMessagesVisible", "Maximum", QueueName={"Fn::GetAtt": ["Dlq", "QueueName"]}
    )
    resources = {
        **TOPIC,
        "Dlq": queue(),
        "Policy": dlq_policy("Dlq"),
        "Rule": rule(GONE, **pattern("ringing")),
        "Depth": alarm("depth", **depth, OKActions=[ref("Topic")]),
        "Sent": alarm("sent", **both_spellings(ref("Rule"))),
        "Elsewhere": alarm("elsewhere", **both_spellings("another-rule")),
    }
    outputs = toy.deploy("ringing", resources, {"Dlq": ref("Dlq"), "Topic": ref("Topic")})
    come_to(toy, "OK", "depth", "sent", "elsewhere")
    told(toy, outputs["Topic"], depth_OK=1)
    for time in (1, 2):
        put_event(toy, "ringing")
        told(toy, outputs["Topic"], depth_OK=time, depth_ALARM=time, sent_ALARM=time)
        # The count is over a minute later, the message waits for somebody.
        come_to(toy, "OK", "sent")
        assert states(toy, "depth", "elsewhere") == ["ALARM", "OK"]
        toy.receive(outputs["Dlq"])
        told(toy, outputs["Topic"], depth_OK=time + 1, depth_ALARM=time, sent_ALARM=time)
    history = toy.clients.client("cloudwatch").describe_alarm_history(AlarmName="depth", ScanBy="TimestampAscending")
    moves = [json.loads(each["HistoryData"])["newState"]["stateValue"] for each in history["AlarmHistoryItems"]]
    assert moves == ["INSUFFICIENT_DATA", "OK", "ALARM", "OK", "ALARM", "OK"]


def test_executions_that_fail_ring_for_their_own_state_machine_alone(toy: Toy) -> None:
    def machine(end: str) -> dict[str, Any]:
        definition = {"StartAt": "End", "States": {"End": {"Type": end}}}
        role_arn = "arn:aws:iam::000000000000:role/none"
        return {
            "Type": "AWS::StepFunctions::StateMachine",
            "Properties": {"StateMachineType": "STANDARD", "Definition": definition, "RoleArn": role_arn},
        }

    machines = {"Failing": "Fail", "Ending": "Succeed"}
    resources = {
        **TOPIC,
        **{name: machine(end) for name, end in machines.items()},
        **{
            f"{name}Alarm": alarm(name.lower(), **of_one("AWS/States", "ExecutionsFailed", StateMachineArn=ref(name)))
            for name in machines
        },
    }
    outputs = toy.deploy("executions", resources, {"Topic": ref("Topic"), **{name: ref(name) for name in machines}})
    come_to(toy, "OK", "failing", "ending")
    for time in (1, 2):
        for name in machines:
            toy.clients.client("stepfunctions").start_execution(stateMachineArn=outputs[name])
        told(toy, outputs["Topic"], failing_ALARM=time)
        come_to(toy, "OK", "failing", "ending")


def test_a_query_over_the_bus_rings(toy: Toy) -> None:
    lost = {
        "Id": "q",
        "Expression": 'SELECT SUM(OnFailureDestinationFailed) FROM SCHEMA("AWS/EventsV2", EventBus, Subscriber)',
        "Period": 60,
    }
    retries = {"RetryStrategy": "ALL", "MaxRetryAttempts": 0, "MaxEventAgeInSeconds": 60}
    resources = {
        **TOPIC,
        "Bus": bus("lossy"),
        "Queue": queue(),
        "Dlq": queue(),
        "Delivery": role(allow("sqs:ReceiveMessage")),
        "Subscriber": subscriber(
            "lossy", arn("Queue"), RetryPolicy=retries, OnFailureConfiguration={"Arn": arn("Dlq")}
        ),
        "Lost": alarm("lost", Metrics=[lost]),
    }
    outputs = toy.deploy("lossy", resources, {"Bus": ref("Bus"), "Topic": ref("Topic")})
    come_to(toy, "OK", "lost")
    for number in (1, 2):
        toy.clients.client("eventbridgev2").put_events(EventBusArn=outputs["Bus"], Entries=[entry(number)])
        told(toy, outputs["Topic"], lost_ALARM=number)
        come_to(toy, "OK", "lost")


def test_what_a_function_counts_in_its_log_rings_and_so_does_its_failure(toy: Toy) -> None:
    code = (
        "import json\n"
        "def handler(event, context):\n"
        '    directive = {"Namespace": "Ours", "Dimensions": [["service"]], "Metrics": [{"Name": "Lost"}]}\n'
        '    print(json.dumps({"_aws": {"CloudWatchMetrics": [directive]}, "service": "s", "Lost": event["lost"]}))\n'
        '    raise ValueError("no")\n'
    )
    resources = {
        **TOPIC,
        "Role": working_role(),
        "Function": function(code),
        "Own": alarm("own", **of_one("Ours", "Lost", service="s")),
        "Errors": alarm("errors", **of_one("AWS/Lambda", "Errors", FunctionName=ref("Function"))),
    }
    outputs = toy.deploy("own-metric", resources, {"F": ref("Function"), "Topic": ref("Topic")})
    come_to(toy, "OK", "own", "errors")
    toy.clients.client("lambda").invoke(FunctionName=outputs["F"], Payload=b'{"lost": 2}')
    told(toy, outputs["Topic"], errors_ALARM=1, own_ALARM=1)
    come_to(toy, "OK", "own", "errors")


def test_what_is_throttled_rings(toy: Toy) -> None:
    throttles = of_one("AWS/Lambda", "Throttles", FunctionName=ref("Function"))
    resources = {
        **TOPIC,
        "Role": working_role(),
        "Function": function("def handler(event, context): pass"),
        "Throttled": alarm("throttled", **throttles),
    }
    outputs = toy.deploy("throttled", resources, {"F": ref("Function"), "Topic": ref("Topic")})
    come_to(toy, "OK", "throttled")
    functions = toy.clients.client("lambda")
    functions.put_function_concurrency(FunctionName=outputs["F"], ReservedConcurrentExecutions=0)
    with pytest.raises(functions.exceptions.TooManyRequestsException):
        functions.invoke(FunctionName=outputs["F"], Payload=b"{}")
    told(toy, outputs["Topic"], throttled_ALARM=1)


def scheduled(code: str, name: str) -> dict[str, Any]:
    """A schedule, the function it runs, and an alarm on 15 minutes without a run."""
    stat = {"Metric": metric("AWS/Lambda", "Invocations", FunctionName=ref("Function")), "Stat": "Sum", "Period": 300}
    runs = [
        {"Id": "total", "Expression": "FILL(runs, 0)", "ReturnData": True},
        {"Id": "runs", "MetricStat": stat, "ReturnData": False},
    ]
    return {
        **TOPIC,
        "Dlq": queue(),
        "Role": working_role(),
        "Function": function(code),
        "Rule": rule(arn("Function"), ScheduleExpression="rate(1 minute)"),
        "Permission": permission(),
        "Silent": alarm(
            name,
            Metrics=runs,
            EvaluationPeriods=3,
            ComparisonOperator="LessThanThreshold",
            TreatMissingData="breaching",
        ),
    }


def test_a_schedule_that_is_switched_off_rings(toy: Toy) -> None:
    outputs = toy.deploy("scheduled", scheduled("def handler(event, context): pass", "off"), {"Rule": ref("Rule")})
    come_to(toy, "OK", "off")
    toy.clients.client("events").disable_rule(Name=outputs["Rule"])
    come_to(toy, "ALARM", "off")


def test_a_tick_that_takes_long_is_no_silence(toy: Toy) -> None:
    """Ticks that would meet it are left out here; on AWS they run."""
    slow = "import time\ndef handler(event, context): time.sleep(20)"
    outputs = toy.deploy("slow", scheduled(slow, "long"), {"Rule": ref("Rule"), "Topic": ref("Topic")})
    come_to(toy, "OK", "long")
    before, rang = toy.metric("Invocations"), notices(toy, outputs["Topic"])
    wait_for(lambda: toy.metric("Invocations") >= before + 30)
    toy.clients.client("events").disable_rule(Name=outputs["Rule"])
    assert notices(toy, outputs["Topic"]) == rang


def test_a_state_that_was_set_by_hand_lasts_until_the_next_look(toy: Toy) -> None:
    resources = {**TOPIC, "Set": alarm("set", **of_one("Ours", "Never"))}
    outputs = toy.deploy("by-hand", resources, {"Topic": ref("Topic")})
    come_to(toy, "OK", "set")
    cloudwatch = toy.clients.client("cloudwatch")
    cloudwatch.set_alarm_state(AlarmName="set", StateValue="ALARM", StateReason="an exercise")
    told(toy, outputs["Topic"], set_ALARM=1)
    come_to(toy, "OK", "set")


def test_what_is_put_by_hand_rings_and_silence_that_is_no_health_is_told(toy: Toy) -> None:
    resources = {
        **TOPIC,
        "Put": alarm("put", **of_one("Ours", "Put", "SampleCount", a="1"), Threshold=3, TreatMissingData="missing"),
    }
    outputs = toy.deploy("put", resources, {"Topic": ref("Topic")})
    dimensions = [{"Name": "a", "Value": "1"}]
    data = [{"MetricName": "Put", "Dimensions": dimensions, "Values": [1.0, 2.0], "Counts": [1.0, 2.0]}]
    toy.clients.client("cloudwatch").put_metric_data(Namespace="Ours", MetricData=data)
    told(toy, outputs["Topic"], put_ALARM=1)
    come_to(toy, "INSUFFICIENT_DATA", "put")
