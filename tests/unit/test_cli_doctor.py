"""`prospects doctor`: a healthy deployment has no problem, and each fault is named with what to do about it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from cli.doctor.examination import CHECKS
from cli.doctor.patient import Patient
from cli.target import Target
from local.running import RunningCloud
from tests.unit.cli_world import FakeCloud, Shell, on_aws
from tests.unit.finish_world import REGION

BUS = f"arn:aws:events:{REGION}:123456789012:event-busv2/ProspectUploader/abc"
KEY = "sk-ant-something-secret"
ALARM = {"AlarmName": "ProspectUploader-a", "StateValue": "OK", "ActionsEnabled": True, "AlarmActions": ["arn:t"]}
BY_ARN = [{"Name": "EventBus", "Value": BUS}, {"Name": "Subscriber", "Value": f"{BUS}/s"}]


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    with on_aws(monkeypatch, tmp_path) as found:
        make_healthy(found)
        yield found


def make_healthy(shell: Shell) -> None:
    """A deployment in which every check that costs nothing is ok."""
    sqs = boto3.client("sqs")
    dead = sqs.create_queue(QueueName="dead")["QueueUrl"]
    redrive = json.dumps({"deadLetterTargetArn": arn_of(dead), "maxReceiveCount": 5})
    queue = sqs.create_queue(QueueName="work", Attributes={"RedrivePolicy": redrive})["QueueUrl"]
    boto3.client("secretsmanager").create_secret(Name="the-secret", SecretString=KEY)
    shell.deploy(
        EventBusArn=BUS, ClassifyQueueUrl=queue, AlertsTopicArn="arn:aws:sns:t", DeadLetterQueues=f"classify-dlq={dead}"
    )
    shell.settings(max_receives=5, classify_dlq_url=dead, anthropic_secret_id="the-secret", model_id="claude-haiku-5-5")
    resource = {"ResourceType": "AWS::CloudWatch::Alarm", "PhysicalResourceId": ALARM["AlarmName"]}
    shell.stacks.answers |= {
        "DescribeEventBus": {"Name": "ProspectUploader", "State": "ACTIVE"},
        "ListSubscribers": {"Subscribers": [{"Name": "s", "State": "RUNNING", "TargetArn": arn_of(queue)}]},
        "ListMetrics": {"Metrics": [{"MetricName": "EventsDelivered", "Dimensions": BY_ARN}]},
        "GetBucketNotificationConfiguration": {"EventBridgeConfiguration": {}},
        "GetAccountSettings": {"AccountLimit": {"ConcurrentExecutions": 1000, "UnreservedConcurrentExecutions": 1000}},
        "ListEventSourceMappings": {"EventSourceMappings": [{"ScalingConfig": {"MaximumConcurrency": 2}}]},
        "ListSubscriptionsByTopic": {"Subscriptions": [{"SubscriptionArn": "arn:aws:sns:s"}]},
        "ListStackResources": {"StackResourceSummaries": [resource]},
        "DescribeAlarms": {"MetricAlarms": [ALARM]},
    }


def arn_of(queue_url: str) -> str:
    found = boto3.client("sqs").get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])
    return str(found["Attributes"]["QueueArn"])


def checks(shell: Shell, *arguments: str) -> dict[str, dict[str, str]]:
    found = shell.json("doctor", "--read-only", *arguments)
    return {each["check"]: each for each in found["checks"]}


def test_a_healthy_deployment_has_no_problem_and_says_what_was_skipped(shell: Shell) -> None:
    result = shell.run("doctor", "--read-only")
    assert result.exit_code == 0, result.output
    found = checks(shell)
    assert list(found) == list(CHECKS)
    assert {name for name, each in found.items() if each["state"] != "ok"} == {"object_keys", "model"}
    assert found["model"]["do"] == "Run `prospects doctor --spend`."
    assert "11 ok, 2 unknown" in result.stdout
    assert KEY not in result.output + json.dumps(found)


def test_the_json_has_exactly_the_documented_members(shell: Shell) -> None:
    found = shell.json("doctor", "--read-only")
    assert list(found) == ["where", "problems", "checks"]
    assert all(list(each) == ["check", "state", "found", "do"] for each in found["checks"])


def a_pending_subscription(shell: Shell) -> None:
    shell.stacks.answers["ListSubscriptionsByTopic"] = {"Subscriptions": [{"SubscriptionArn": "PendingConfirmation"}]}


def another_max_receives(shell: Shell) -> None:
    variables = shell.stacks.answers["GetFunctionConfiguration"]["Environment"]["Variables"]
    variables["MAX_RECEIVES"] = "4"


def a_dead_letter(shell: Shell) -> None:
    boto3.client("sqs").send_message(
        QueueUrl=boto3.client("sqs").get_queue_url(QueueName="dead")["QueueUrl"], MessageBody="x"
    )


def an_empty_secret(shell: Shell) -> None:
    boto3.client("secretsmanager").put_secret_value(SecretId="the-secret", SecretString="two words")


def no_secret(shell: Shell) -> None:
    boto3.client("secretsmanager").delete_secret(SecretId="the-secret", ForceDeleteWithoutRecovery=True)


def answering(**answers: Any) -> Callable[[Shell], None]:
    return lambda shell: shell.stacks.answers.update(answers)


FEW = {"AccountLimit": {"ConcurrentExecutions": 10, "UnreservedConcurrentExecutions": 4}}
ELSEWHERE = {"Subscribers": [{"Name": "s", "State": "RUNNING", "TargetArn": "arn:other"}]}
BUS_ONLY = {"Metrics": [{"MetricName": "EventsDelivered", "Dimensions": BY_ARN[:1]}]}


@pytest.mark.parametrize(
    ("break_it", "check", "said"),
    [
        (answering(DescribeEventBus={"Name": "b", "State": "DELETE_FAILED"}), "bus", "DELETE_FAILED"),
        (answering(ListSubscribers={"Subscribers": []}), "subscriber", "none of the 0 subscribers"),
        (answering(ListSubscribers=ELSEWHERE), "subscriber", "none of the 1 subscribers"),
        (answering(ListMetrics=BUS_ONLY), "bus_metrics", "there are: EventBus;"),
        (answering(GetBucketNotificationConfiguration={}), "bucket_events", "does not send events"),
        (another_max_receives, "redrive", "after 5 receives, the function after 4"),
        (a_dead_letter, "dead_letters", "1 in classify-dlq"),
        (answering(GetAccountSettings=FEW), "concurrency", "4 unreserved"),
        (an_empty_secret, "secret", "holds no API key"),
        (no_secret, "secret", "ResourceNotFoundException"),
        (a_pending_subscription, "alerts", "1 of 1 subscriptions of the alerts topic are not confirmed"),
        (answering(ListSubscriptionsByTopic={"Subscriptions": []}), "alerts", "nobody subscribes"),
        (answering(DescribeAlarms={"MetricAlarms": []}), "alarms", "alarms are gone: ProspectUploader-a"),
        (answering(DescribeAlarms={"MetricAlarms": [ALARM | {"StateValue": "ALARM"}]}), "alarms", "in alarm:"),
        (answering(DescribeAlarms={"MetricAlarms": [ALARM | {"ActionsEnabled": False}]}), "alarms", "tell nobody"),
    ],
)
def test_a_fault_is_a_problem_of_its_check_alone_and_exits_1(
    shell: Shell, break_it: Callable[[Shell], None], check: str, said: str
) -> None:
    break_it(shell)
    result = shell.run("doctor", "--read-only", "--json")
    assert result.exit_code == 1, result.output
    found = json.loads(result.stdout)
    [problem] = [each for each in found["checks"] if each["state"] == "problem"]
    assert (found["problems"], problem["check"]) == (1, check)
    assert said in problem["found"]
    assert problem["do"]


def test_metrics_that_are_not_there_yet_are_unknown(shell: Shell) -> None:
    shell.stacks.answers["ListMetrics"] = {"Metrics": []}
    assert checks(shell)["bus_metrics"]["state"] == "unknown"


def test_a_check_that_is_not_allowed_is_unknown_and_the_others_go_on(shell: Shell) -> None:
    shell.stacks.answers |= {"DescribeAlarms": "AccessDenied", "ListMetrics": "AccessDeniedException"}
    found = checks(shell)
    assert (found["alarms"]["state"], found["bus_metrics"]["state"], found["alerts"]["state"]) == (
        "unknown",
        "unknown",
        "ok",
    )
    assert "may not call DescribeAlarms" in found["alarms"]["found"]


def test_a_secret_that_the_caller_may_not_read_is_looked_at_from_outside(shell: Shell) -> None:
    shell.stacks.answers["GetSecretValue"] = "AccessDeniedException"
    assert checks(shell)["secret"]["state"] == "ok"
    shell.stacks.answers["DescribeSecret"] = {"Name": "the-secret", "VersionIdsToStages": {}}
    assert "has no value" in checks(shell)["secret"]["found"]


def test_on_bedrock_there_is_no_secret_to_look_at(shell: Shell) -> None:
    shell.settings(model_provider="bedrock", max_receives=5)
    assert checks(shell)["secret"]["state"] == "not_meaningful"


def test_stacks_older_than_the_command_are_told_for_the_check_that_needs_more(shell: Shell) -> None:
    shell.deploy()
    assert checks(shell)["bus"]["found"] == "the stacks have no output EventBusArn"


def test_on_the_local_cloud_the_checks_that_mean_nothing_say_so(shell: Shell) -> None:
    local = RunningCloud("http://127.0.0.1:1", {}, stand_in=True)
    here = Patient(Target(FakeCloud(world=shell.world), "here", "local:me", "P", REGION, "1", local))
    for name in ("region", "bus_metrics", "object_keys", "concurrency", "model", "alerts"):
        assert CHECKS[name](here).state == "not_meaningful"
