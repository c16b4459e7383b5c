"""What MiniStack drops or does otherwise than AWS, seen from outside after the repair."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tests.local.toy import REPORTING, Toy, allow, arn, function, queue, ref, role, wait_for, working_role

REPORTS = {"Variables": {"REPORTS": ref("Reports")}}


def dlq_policy(queue_name: str) -> dict[str, Any]:
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "events.amazonaws.com"},
        "Action": "sqs:SendMessage",
        "Resource": arn(queue_name),
        "Condition": {"ArnEquals": {"aws:SourceArn": arn("Rule")}},
    }
    document = {"Statement": [statement]}
    return {"Type": "AWS::SQS::QueuePolicy", "Properties": {"Queues": [ref(queue_name)], "PolicyDocument": document}}


def rule(target: Any, **properties: Any) -> dict[str, Any]:
    targets = [{"Id": "t", "Arn": target, "DeadLetterConfig": {"Arn": arn("Dlq")}}]
    return {"Type": "AWS::Events::Rule", "Properties": {"Targets": targets, **properties}}


def permission(of_rule: str = "Rule") -> dict[str, Any]:
    return {
        "Type": "AWS::Lambda::Permission",
        "Properties": {
            "Action": "lambda:InvokeFunction",
            "FunctionName": arn("Function"),
            "Principal": "events.amazonaws.com",
            "SourceArn": arn(of_rule),
        },
    }


def pattern(source: str) -> dict[str, Any]:
    return {"EventPattern": {"source": [source]}}


def put_event(toy: Toy, source: str) -> None:
    toy.clients.client("events").put_events(Entries=[{"Source": source, "DetailType": "d", "Detail": '{"n": 1}'}])


def test_a_rule_whose_function_is_gone_sends_the_event_to_its_dlq_with_the_documented_attributes(toy: Toy) -> None:
    target = "arn:aws:lambda:us-east-1:000000000000:function:gone"
    resources = {"Dlq": queue(), "Policy": dlq_policy("Dlq"), "Rule": rule(target, **pattern("gone"))}
    outputs = toy.deploy("rule-gone", resources, {"Dlq": ref("Dlq"), "Rule": arn("Rule")})
    put_event(toy, "gone")
    message = toy.receive(outputs["Dlq"])
    assert json.loads(message["Body"])["detail"] == {"n": 1}
    attributes = {name: found["StringValue"] for name, found in message["MessageAttributes"].items()}
    assert attributes["RULE_ARN"] == outputs["Rule"]
    assert attributes["TARGET_ARN"] == target
    assert attributes["ERROR_CODE"] == "NO_RESOURCE"
    assert toy.metric("InvocationsSentToDlq") >= 1


def test_a_rule_without_permission_on_its_function_sends_the_event_to_its_dlq(toy: Toy) -> None:
    resources = {
        "Dlq": queue(),
        "Policy": dlq_policy("Dlq"),
        "Role": working_role(),
        "Function": function("def handler(event, context): pass"),
        "Rule": rule(arn("Function"), **pattern("forbidden")),
    }
    outputs = toy.deploy("rule-forbidden", resources, {"Dlq": ref("Dlq")})
    put_event(toy, "forbidden")
    message = toy.receive(outputs["Dlq"])
    assert message["MessageAttributes"]["ERROR_CODE"]["StringValue"] == "NO_PERMISSIONS"


def test_a_dlq_the_rule_may_not_write_to_is_counted(toy: Toy) -> None:
    target = "arn:aws:lambda:us-east-1:000000000000:function:gone"
    toy.deploy("rule-unwritable", {"Dlq": queue(), "Rule": rule(target, **pattern("unwritable"))}, {})
    put_event(toy, "unwritable")
    wait_for(lambda: toy.metric("InvocationsFailedToBeSentToDlq") == 1)


def test_an_upload_event_names_the_version_of_the_object(toy: Toy) -> None:
    code = REPORTING + 'def handler(event, context): report(event["detail"]["object"])'
    resources = {
        "Bucket": {
            "Type": "AWS::S3::Bucket",
            "Properties": {
                "VersioningConfiguration": {"Status": "Enabled"},
                "NotificationConfiguration": {"EventBridgeConfiguration": {"EventBridgeEnabled": True}},
            },
        },
        "Reports": queue(),
        "Dlq": queue(),
        "Role": working_role(),
        "Function": function(code, Environment=REPORTS),
        "Rule": rule(
            arn("Function"),
            EventPattern={"source": ["aws.s3"], "detail": {"object": {"key": [{"prefix": "uploads/"}]}}},
        ),
        "Permission": permission(),
    }
    outputs = toy.deploy("upload", resources, {"Bucket": ref("Bucket"), "Reports": ref("Reports")})
    s3 = toy.clients.client("s3")
    s3.put_object(Bucket=outputs["Bucket"], Key="elsewhere/b c.csv", Body=b"x")
    versions = [s3.put_object(Bucket=outputs["Bucket"], Key="uploads/b c.csv", Body=b"x")["VersionId"] for _ in "ab"]
    got = [json.loads(toy.receive(outputs["Reports"])["Body"]) for _ in versions]
    assert {found["key"] for found in got} == {"uploads/b c.csv"}
    assert sorted(found["version-id"] for found in got) == sorted(versions)


def test_an_asynchronous_event_that_keeps_failing_reaches_the_on_failure_queue(toy: Toy) -> None:
    code = REPORTING + 'def handler(event, context): report("called"); raise ValueError("no")'
    resources = {
        "Reports": queue(),
        "Failures": queue(),
        "Role": working_role(),
        "Function": function(code, Environment=REPORTS),
        "Asynchronous": {
            "Type": "AWS::Lambda::EventInvokeConfig",
            "Properties": {
                "FunctionName": ref("Function"),
                "Qualifier": "$LATEST",
                "MaximumRetryAttempts": 1,
                "DestinationConfig": {"OnFailure": {"Destination": arn("Failures")}},
            },
        },
    }
    outputs = toy.deploy(
        "async", resources, {"F": ref("Function"), "Failures": ref("Failures"), "Reports": ref("Reports")}
    )
    toy.clients.client("lambda").invoke(FunctionName=outputs["F"], InvocationType="Event", Payload=b'{"n": 5}')
    record = json.loads(toy.receive(outputs["Failures"])["Body"])
    assert record["requestPayload"] == {"n": 5}
    assert record["requestContext"]["condition"] == "RetriesExhausted"
    assert record["requestContext"]["approximateInvokeCount"] == 2
    assert record["requestContext"]["requestId"]
    assert record["responseContext"]["functionError"] == "Unhandled"
    assert [json.loads(toy.receive(outputs["Reports"])["Body"]) for _ in range(2)] == ["called"] * 2


@pytest.mark.parametrize(
    ("code", "kind", "sentence"),
    [
        ("raise ValueError('no')", "ValueError", "no"),
        ("raise KeyError", "KeyError", ""),
        ("raise RefusedError('first\\nsecond: line')", "RefusedError", "first\nsecond: line"),
    ],
)
def test_a_function_that_raises_is_told_by_the_class_of_its_error(
    toy: Toy, code: str, kind: str, sentence: str
) -> None:
    handler = f"class RefusedError(Exception): pass\ndef handler(event, context): {code}"
    name = toy.deploy(f"raises-{kind}", {"Role": working_role(), "F": function(handler)}, {"F": ref("F")})["F"]
    answer = toy.clients.client("lambda").invoke(FunctionName=name, Payload=b"{}")
    assert answer["FunctionError"] == "Unhandled"
    error = json.loads(answer["Payload"].read())
    assert (error["errorType"], error["errorMessage"]) == (kind, sentence)


def test_a_schedule_ticks_at_the_local_pace_and_never_meets_itself(toy: Toy) -> None:
    code = REPORTING + (
        "import time\n"
        'def handler(event, context): report("begin"); time.sleep(0.5); report("end")  # longer than a tick'
    )
    resources = {
        "Reports": queue(),
        "Dlq": queue(),
        "Role": working_role(),
        "Function": function(code, Environment=REPORTS),
        "Rule": rule(arn("Function"), ScheduleExpression="rate(1 minute)"),
        "Permission": permission(),
    }
    outputs = toy.deploy("schedule", resources, {"Reports": ref("Reports"), "Rule": ref("Rule")})
    got = [json.loads(toy.receive(outputs["Reports"])["Body"]) for _ in range(6)]
    toy.clients.client("events").disable_rule(Name=outputs["Rule"])
    assert got == ["begin", "end"] * 3


@pytest.mark.parametrize("slow", ["rate(3 minutes)", "rate(1 hour)"])
def test_a_slower_schedule_ticks_as_much_more_seldom(toy: Toy, slow: str) -> None:
    code = REPORTING + 'def handler(event, context): report(event["resources"][0])'
    resources = {
        "Reports": queue(),
        "Dlq": queue(),
        "Role": working_role(),
        "Function": function(code, Environment=REPORTS),
        "Fast": rule(arn("Function"), ScheduleExpression="rate(1 minute)"),
        "Slow": rule(arn("Function"), ScheduleExpression=slow),
        "MayFast": permission("Fast"),
        "MaySlow": permission("Slow"),
    }
    outputs = toy.deploy(
        f"pace-{slow[5]}", resources, {"Reports": ref("Reports"), "Fast": arn("Fast"), "Slow": arn("Slow")}
    )
    got = [json.loads(toy.receive(outputs["Reports"])["Body"]) for _ in range(8)]
    for name in ("Fast", "Slow"):
        toy.clients.client("events").disable_rule(Name=outputs[name].rpartition("/")[2])
    # A tick may be left out while the one before it runs, so the fast one is at least as fast as it should be slow.
    assert got.count(outputs["Slow"]) <= (3 if "minutes" in slow else 1)
    assert got.count(outputs["Fast"]) >= 5


@pytest.fixture(scope="module")
def driven(toy: Toy) -> dict[str, str]:
    """A queue that drives a function which does to each message what the message says."""
    code = REPORTING + (
        "def handler(event, context):\n"
        "    failed = []\n"
        '    for record in event["Records"]:\n'
        '        count = int(record["attributes"]["ApproximateReceiveCount"])\n'
        '        report([record["body"], count])\n'
        '        if record["body"] == "unreadable": return {"batchItemFailures": [{"itemIdentifier": "x"}]}\n'
        '        if record["body"] == "raise": raise ValueError("no")\n'
        '        if record["body"] != "good": failed.append({"itemIdentifier": record["messageId"]})\n'
        '        if record["body"] == "soon": sqs.change_message_visibility(QueueUrl=os.environ["WORK"],\n'
        '            ReceiptHandle=record["receiptHandle"], VisibilityTimeout=0)\n'
        '    return {"batchItemFailures": failed}\n'
    )
    environment = {"Variables": {"REPORTS": ref("Reports"), "WORK": ref("Work")}}
    resources = {
        "Reports": queue(),
        "Dead": queue(),
        "Work": queue(VisibilityTimeout=1, RedrivePolicy={"deadLetterTargetArn": arn("Dead"), "maxReceiveCount": 2}),
        "Role": working_role(),
        "Function": function(code, Environment=environment),
        "Mapping": {
            "Type": "AWS::Lambda::EventSourceMapping",
            "Properties": {
                "EventSourceArn": arn("Work"),
                "FunctionName": ref("Function"),
                "BatchSize": 1,
                "FunctionResponseTypes": ["ReportBatchItemFailures"],
                "ScalingConfig": {"MaximumConcurrency": 2},
            },
        },
    }
    return toy.deploy("driven", resources, {name: ref(name) for name in ("Reports", "Dead", "Work")})


@pytest.mark.parametrize("body", ["fail", "raise", "unreadable", "soon"])
def test_a_message_that_fails_comes_back_and_is_redriven_after_its_receives(
    toy: Toy, driven: dict[str, str], body: str
) -> None:
    toy.clients.client("sqs").send_message(QueueUrl=driven["Work"], MessageBody=body)
    assert toy.receive(driven["Dead"])["Body"] == body
    assert [json.loads(toy.receive(driven["Reports"])["Body"]) for _ in range(2)] == [[body, 1], [body, 2]]


def test_messages_sent_while_a_queue_is_read_are_all_handled(toy: Toy, driven: dict[str, str]) -> None:
    sqs = toy.clients.client("sqs")

    def send() -> None:
        for _ in range(5):
            entries = [{"Id": str(number), "MessageBody": "good"} for number in range(10)]
            sqs.send_message_batch(QueueUrl=driven["Work"], Entries=entries)

    senders = [threading.Thread(target=send) for _ in range(2)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    got = [toy.receive(driven["Reports"])["Body"] for _ in range(100)]
    assert got == [json.dumps(["good", 1])] * 100


def test_no_more_handlers_run_at_once_than_were_asked_for(toy: Toy) -> None:
    code = REPORTING + (
        "import time\n"
        "def handler(event, context): report([time.time(), os.getpid()]); time.sleep(0.2); report([time.time(), 0])"
    )
    resources = {"Reports": queue(), "Role": working_role(), "Function": function(code, Environment=REPORTS)}
    outputs = toy.deploy("many", resources, {"F": ref("Function"), "Reports": ref("Reports")})
    functions = toy.clients.client("lambda")
    for _ in range(8):
        functions.invoke(FunctionName=outputs["F"], InvocationType="Event", Payload=b"{}")
    got = [json.loads(toy.receive(outputs["Reports"])["Body"]) for _ in range(16)]
    running = most = 0
    for _, pid in sorted(got):
        running += 1 if pid else -1
        most = max(most, running)
    assert most == 2
    assert len({pid for _, pid in got if pid}) == 2


def test_a_handler_may_do_what_its_deployed_role_may_and_no_more(toy: Toy) -> None:
    code = (
        "import boto3, os\n"
        "def handler(event, context):\n"
        '    try: return boto3.client("sqs").send_message(QueueUrl=os.environ["Q"], MessageBody="x")["MessageId"][:0]\n'
        '    except Exception as error: return error.response["Error"]["Code"]\n'
    )
    environment = {"Variables": {"Q": ref("Queue")}}
    resources = {
        "Queue": queue(),
        "Allowed": role(allow("sqs:SendMessage", arn("Queue"))),
        "Denied": role(allow("sqs:ReceiveMessage", arn("Queue"))),
        "May": function(code, role_name="Allowed", Environment=environment),
        "MayNot": function(code, role_name="Denied", Environment=environment),
    }
    outputs = toy.deploy("handler-roles", resources, {"May": ref("May"), "MayNot": ref("MayNot")})
    functions = toy.clients.client("lambda")
    answers = {
        name: json.loads(functions.invoke(FunctionName=outputs[name], Payload=b"{}")["Payload"].read())
        for name in ("May", "MayNot")
    }
    assert answers["May"] == ""
    assert "AccessDenied" in answers["MayNot"]
