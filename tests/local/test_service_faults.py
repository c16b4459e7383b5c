"""Services that fail by rule, as a real boto3 client sees them; what is said to be applied really is."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError

from local.errors import FaultRuleError
from local.faults.rules import Asked, FaultRules, parse_rules
from local.settings import ACCOUNT, REGION, SECRET
from tests.local.toy import REPORTING, Toy, arn, function, queue, ref, served, wait_for, working_role

ONCE = Config(retries={"total_max_attempts": 1, "mode": "standard"})
TWICE = Config(retries={"total_max_attempts": 2, "mode": "standard"})


def failing(service: str, operation: str, resource: str, then: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"when": {"service": service, "operation": operation, "resource": resource}, "then": then, **more}


THROTTLED = {"status": 400, "code": "ThrottlingException"}
RULES = [
    failing("dynamodb", "PutItem", "throttled", {"status": 400, "code": "ProvisionedThroughputExceededException"}),
    failing("dynamodb", "PutItem", "lost", {"lost": "answer"}, times=1),
    failing("dynamodb", "PutItem", "unsent", {"lost": "request"}, times=1),
    failing("dynamodb", "UpdateItem", "half", {"applied": True, "status": 500, "code": "InternalServerError"}, times=1),
    failing("dynamodb", "GetItem", "late", {"delay_s": 0.3}, times=1),
    failing("dynamodb", "BatchGetItem", "lost", THROTTLED),
    failing("dynamodb", "TransactWriteItems", "lost", THROTTLED),
    failing("sqs", "SendMessage", "Closed", {"status": 403, "code": "AccessDenied"}),
    failing("sns", "Publish", "closed", {"status": 403, "code": "AuthorizationError", "message": "No <you> & I."}),
    failing("s3", "GetObject", "bucket/uploads", {"status": 503, "code": "SlowDown"}),
    failing("s3", "HeadObject", "bucket/uploads", {"lost": "answer"}),
    failing("s3", "CreateMultipartUpload", "bucket", {"status": 500, "code": "InternalError"}),
    failing("lambda", "Invoke", "nobody", {"status": 429, "code": "TooManyRequestsException"}),
    failing("events", "PutEvents", "", {"entries": [0, 2], "code": "InternalFailure"}, times=1),
    failing("events", "PutEvents", "", {"status": 429, "code": "ThrottlingException"}, times=1),
    failing("events", "PutEvents", "", {"lost": "answer"}, times=1),
    {
        "when": {"service": "sqs", "operation": "SendMessage", "caller": "failing"},
        "then": {"status": 403, "code": "No"},
    },
]


@pytest.fixture(scope="module")
def cloud() -> Iterator[Toy]:
    with served(service_faults=RULES) as running:
        yield running


def client(cloud: Toy, service: str, config: Config = ONCE) -> Any:
    return boto3.client(
        service,
        endpoint_url=cloud.clients.endpoint,
        region_name=REGION,
        aws_access_key_id=ACCOUNT,
        aws_secret_access_key=SECRET,
        config=config,
    )


def table(cloud: Toy, name: str) -> str:
    key = {"AttributeName": "id"}
    client(cloud, "dynamodb").create_table(
        TableName=name,
        KeySchema=[{**key, "KeyType": "HASH"}],
        AttributeDefinitions=[{**key, "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    return name


def put(cloud: Toy, name: str, config: Config = ONCE, **more: Any) -> Any:
    return client(cloud, "dynamodb", config).put_item(TableName=name, Item={"id": {"S": "1"}}, **more)


def items(cloud: Toy, name: str) -> int:
    return int(client(cloud, "dynamodb").scan(TableName=name)["Count"])


def test_a_throttled_write_is_the_services_own_error_and_does_nothing(cloud: Toy) -> None:
    name = table(cloud, "throttled")
    with pytest.raises(client(cloud, "dynamodb").exceptions.ClientError) as raised:
        put(cloud, name)
    assert raised.value.response["Error"]["Code"] == "ProvisionedThroughputExceededException"
    assert items(cloud, name) == 0


def test_a_lost_answer_is_a_closed_connection_though_the_write_was_applied(cloud: Toy) -> None:
    name = table(cloud, "lost-once")
    with pytest.raises(ConnectionClosedError):
        put(cloud, name)
    assert items(cloud, name) == 1


def test_a_lost_request_is_a_closed_connection_and_botocores_own_retry_writes_once(cloud: Toy) -> None:
    name = table(cloud, "unsent")
    put(cloud, name, TWICE, ConditionExpression="attribute_not_exists(id)")
    assert items(cloud, name) == 1


def test_an_error_though_applied_is_met_again_by_the_retry(cloud: Toy) -> None:
    name = table(cloud, "half")
    answer = client(cloud, "dynamodb", TWICE).update_item(
        TableName=name,
        Key={"id": {"S": "1"}},
        UpdateExpression="ADD n :one",
        ExpressionAttributeValues={":one": {"N": "1"}},
        ReturnValues="ALL_NEW",
    )
    assert answer["Attributes"]["n"] == {"N": "2"}


def test_a_delayed_read_is_answered_late(cloud: Toy) -> None:
    name, begun = table(cloud, "late"), time.monotonic()
    assert "Item" not in client(cloud, "dynamodb").get_item(TableName=name, Key={"id": {"S": "1"}})
    assert time.monotonic() - begun >= 0.3


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (
            lambda c: c("dynamodb").batch_get_item(RequestItems={"lost": {"Keys": [{"id": {"S": "1"}}]}}),
            "ThrottlingException",
        ),
        (
            lambda c: c("dynamodb").transact_write_items(TransactItems=[{"Put": {"TableName": "lost", "Item": {}}}]),
            "ThrottlingException",
        ),
        (lambda c: c("sqs").send_message(QueueUrl="http://q/Closed", MessageBody="x"), "AccessDenied"),
        (lambda c: c("sns").publish(TopicArn="arn:aws:sns:x:0:closed", Message="x"), "AuthorizationError"),
        (lambda c: c("s3").get_object(Bucket="bucket", Key="uploads/a.csv"), "SlowDown"),
        (lambda c: c("s3").create_multipart_upload(Bucket="bucket", Key="a"), "InternalError"),
        (lambda c: c("lambda").invoke(FunctionName="nobody"), "TooManyRequestsException"),
    ],
    ids=["batch-get", "transaction", "sqs", "sns", "s3", "s3-multipart", "lambda"],
)
def test_every_protocol_carries_the_code(cloud: Toy, call: Any, code: str) -> None:
    with pytest.raises(ClientError) as raised:
        call(lambda service: client(cloud, service))
    assert raised.value.response["Error"]["Code"] == code
    assert raised.value.response["Error"]["Message"]


def test_an_answer_without_a_body_is_lost_too(cloud: Toy) -> None:
    with pytest.raises(ConnectionClosedError):
        client(cloud, "s3").head_object(Bucket="bucket", Key="uploads/a.csv")


def test_entries_of_put_events_fail_alone_then_the_whole_call_then_its_answer(cloud: Toy) -> None:
    bus = client(cloud, "eventbridgev2")
    arn_of_bus = bus.create_event_bus(Name="faulty")["EventBusArn"]
    entries = [
        {"Source": "s", "DetailType": "d", "Detail": "{}", "SystemMetadata": {"DeduplicationId": str(number)}}
        for number in range(4)
    ]
    first = bus.put_events(EventBusArn=arn_of_bus, Entries=entries)
    assert first["FailedEntryCount"] == 2
    assert [entry.get("ErrorCode") for entry in first["Entries"]] == ["InternalFailure", None, "InternalFailure", None]
    with pytest.raises(bus.exceptions.ThrottlingException):
        bus.put_events(EventBusArn=arn_of_bus, Entries=entries)
    with pytest.raises(ConnectionClosedError):
        bus.put_events(EventBusArn=arn_of_bus, Entries=entries)
    # The lost answer was of a call that was applied: now all four are known.
    again = bus.put_events(EventBusArn=arn_of_bus, Entries=entries)
    assert [entry["SuccessCode"] for entry in again["Entries"]] == ["DEDUPLICATED"] * 4


def test_a_rule_may_single_out_the_function_that_asks(cloud: Toy) -> None:
    code = f"{REPORTING}\ndef handler(event, context):\n    report(event)\n"
    reports = {"Environment": {"Variables": {"REPORTS": ref("Reports")}}}
    resources = {
        "Role": working_role(),
        "Reports": queue(),
        "Failing": function(code, FunctionName="failing-one", **reports),
        "Sound": function(code, FunctionName="sound-one", **reports),
    }
    outputs = cloud.deploy("callers", resources, {"Reports": ref("Reports"), "Failing": arn("Failing")})
    invoke = client(cloud, "lambda").invoke
    assert "FunctionError" in invoke(FunctionName="failing-one", Payload=b'"failed"')
    assert "FunctionError" not in invoke(FunctionName="sound-one", Payload=b'"passed"')
    assert wait_for(lambda: cloud.receive(outputs["Reports"]))["Body"] == '"passed"'


def test_rules_count_what_passes_first_and_how_often_they_hit() -> None:
    rules = FaultRules(parse_rules([failing("sqs", "", "", {"status": 500, "code": "X"}, after=1, times=2)]))
    asked = Asked("sqs", "SendMessage", "q", "")
    hits = [rules.match(asked) is not None for _ in range(5)]
    assert hits == [False, True, True, False, False]
    assert rules.match(Asked("sns", "Publish", "t", "")) is None


def test_the_documented_rules_are_rules() -> None:
    text = (Path(__file__).parents[2] / "docs" / "local.md").read_text(encoding="utf-8").partition("## Faults")[2]
    assert len(parse_rules(json.loads(text.partition("```json\n")[2].partition("```")[0]))) == 5


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"when": {}, "then": THROTTLED}, "Fault rule 1: when: Value error, it names no service"),
        ({"when": {"service": "sqs"}, "then": {}}, "Fault rule 1: then: Value error, it takes exactly one"),
        ({"when": {"service": "sqs"}, "then": {**THROTTLED, "lost": "answer"}}, "Fault rule 1: then: Value error"),
        ({"when": {"service": "sqs"}, "then": {"status": 400}}, "Fault rule 1: then: Value error, a code belongs"),
        ({"when": {"service": "sqs"}, "then": {"entries": [1], "code": "x"}}, "Fault rule 1: it: Value error, entries"),
        ({"when": {"service": "sqs", "table": "t"}, "then": THROTTLED}, "Fault rule 1: when.table: Extra"),
    ],
)
def test_a_faulty_rule_is_named(rule: dict[str, Any], says: str) -> None:
    with pytest.raises(FaultRuleError) as refused:
        parse_rules([rule])
    assert str(refused.value).startswith(says)
