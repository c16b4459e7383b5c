"""The Custom Event Bus through boto3 and CloudFormation: publishing, filters, both targets, failures."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.local.toy import REPORTING, Toy, allow, arn, function, queue, ref, role, wait_for, working_role

BUS = {"Type": "AWS::EventsV2::EventBus", "Properties": {"StorageConfiguration": {"RetentionPeriodInDays": 1}}}


def bus(name: str) -> dict[str, Any]:
    return {**BUS, "Properties": {**BUS["Properties"], "Name": name}}


def subscriber(name: str, target: Any, *, role_name: str = "Delivery", **properties: Any) -> dict[str, Any]:
    invoke = {"TargetArn": target, "RoleArn": arn(role_name), **properties.pop("invoke", {})}
    return {
        "Type": "AWS::EventsV2::Subscriber",
        "Properties": {"Name": name, "EventBusArn": ref("Bus"), "InvokeConfiguration": invoke, **properties},
    }


def entry(number: int, **changes: Any) -> dict[str, Any]:
    detail = {"row": number, **changes.pop("detail", {})}
    return {
        "Source": "toy",
        "DetailType": "row",
        "Detail": json.dumps(detail),
        "SystemMetadata": {"DeduplicationId": f"row-{number}"},
        **changes,
    }


@pytest.fixture(scope="module")
def to_queue(toy: Toy) -> dict[str, str]:
    filters = [
        {"Scope": "SYSTEM_METADATA", "Pattern": json.dumps({"aws:Source": ["toy"], "aws:DetailType": ["row"]})},
        {"Scope": "DATA", "Pattern": json.dumps({"detail": {"row": [{"numeric": ["<", 100]}]}})},
    ]
    return toy.deploy(
        "to-queue",
        {
            "Bus": bus("to-queue"),
            "Queue": queue(),
            "Delivery": role(allow("sqs:SendMessage")),
            "Subscriber": subscriber("all", arn("Queue"), FilterConfiguration={"Filters": filters}),
        },
        {"Bus": ref("Bus"), "Attribute": {"Fn::GetAtt": ["Bus", "EventBusArn"]}, "Queue": ref("Queue")},
    )


def test_ref_and_the_attribute_are_the_arn(to_queue: dict[str, str]) -> None:
    assert to_queue["Bus"] == to_queue["Attribute"]
    assert ":event-busv2/to-queue/" in to_queue["Bus"]


def test_a_matching_event_reaches_the_queue_in_the_classic_envelope(toy: Toy, to_queue: dict[str, str]) -> None:
    answer = toy.clients.client("eventbridgev2").put_events(
        EventBusArn=to_queue["Bus"],
        Entries=[entry(1), entry(100), entry(2, Source="other"), entry(3, DetailType="other")],
    )
    assert [found["SuccessCode"] for found in answer["Entries"]] == ["PUBLISHED"] * 4
    envelope = json.loads(toy.receive(to_queue["Queue"])["Body"])
    assert set(envelope) == {
        "version",
        "id",
        "detail-type",
        "source",
        "account",
        "time",
        "region",
        "resources",
        "detail",
    }
    assert envelope["detail"] == {"row": 1}
    assert envelope["id"] == answer["Entries"][0]["EventId"]


def test_a_repeated_id_is_deduplicated_and_delivered_once(toy: Toy, to_queue: dict[str, str]) -> None:
    client = toy.clients.client("eventbridgev2")
    codes = [
        found["SuccessCode"]
        for _ in range(2)
        for found in client.put_events(EventBusArn=to_queue["Bus"], Entries=[entry(10), entry(11)])["Entries"]
    ]
    assert codes == ["PUBLISHED", "PUBLISHED", "DEDUPLICATED", "DEDUPLICATED"]
    client.put_events(EventBusArn=to_queue["Bus"], Entries=[entry(12)])
    rows = [json.loads(toy.receive(to_queue["Queue"])["Body"])["detail"]["row"] for _ in range(3)]
    assert sorted(rows) == [10, 11, 12]


def test_a_bad_entry_fails_alone_and_an_unknown_bus_is_named(toy: Toy, to_queue: dict[str, str]) -> None:
    client = toy.clients.client("eventbridgev2")
    answer = client.put_events(EventBusArn=to_queue["Bus"], Entries=[entry(200), entry(201, Detail="{")])
    assert answer["FailedEntryCount"] == 1
    assert answer["Entries"][1]["ErrorCode"] == "VALIDATION_ERROR"
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.put_events(EventBusArn=to_queue["Bus"][:-5] + "zzzzz", Entries=[entry(202)])


def test_buses_and_subscribers_can_be_listed_and_described(toy: Toy, to_queue: dict[str, str]) -> None:
    client = toy.clients.client("eventbridgev2")
    assert to_queue["Bus"] in [found["EventBusArn"] for found in client.list_event_buses()["EventBuses"]]
    assert client.describe_event_bus(EventBusArn=to_queue["Bus"])["State"] == "ACTIVE"
    (listed,) = client.list_subscribers(EventBusArn=to_queue["Bus"])["Subscribers"]
    described = client.describe_subscriber(SubscriberArn=listed["SubscriberArn"])
    assert described["Name"] == listed["Name"] == "all"
    assert len(described["FilterConfiguration"]["Filters"]) == 2


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"Type": "FIFO"}, "Type UNORDERED only"),
        ({"Transformer": {"Type": "JSONATA"}}, "RAW and WITH_METADATA"),
        ({"PointInTimeConfiguration": {"PointType": "HORIZON"}}, "PointInTimeConfiguration"),
        ({"RetryPolicy": {"MaxRetryAttempts": 186}}, "between 0 and 185"),
        ({"FilterConfiguration": {"Filters": [{"Scope": "DATA", "Pattern": '{"a":[{"wildcard":"*"}]}'}]}}, "wildcard"),
    ],
)
def test_what_the_local_bus_does_not_do_is_refused_by_name(
    toy: Toy, to_queue: dict[str, str], changes: dict[str, Any], says: str
) -> None:
    client = toy.clients.client("eventbridgev2")
    target = "arn:aws:sqs:us-east-1:000000000000:q"
    with pytest.raises(client.exceptions.InvalidInputException, match=says):
        client.create_subscriber(
            Name="refused",
            EventBusArn=to_queue["Bus"],
            InvokeConfiguration={"TargetArn": target, "RoleArn": "arn:aws:iam::000000000000:role/r"},
            **changes,
        )


def test_a_batch_size_of_one_gives_a_function_one_object_and_any_other_an_array(toy: Toy) -> None:
    code = REPORTING + 'def handler(event, context): report([type(event).__name__, os.environ["NAME"]])'
    reports = {"REPORTS": ref("Reports")}

    def named(name: str) -> dict[str, Any]:
        return function(code, Environment={"Variables": {**reports, "NAME": name}})

    invoke = {"LambdaParameters": {"InvocationType": "REQUEST_RESPONSE"}}
    outputs = toy.deploy(
        "to-function",
        {
            "Bus": bus("to-function"),
            "Reports": queue(),
            "Role": working_role(),
            "Delivery": role(allow("lambda:InvokeFunction")),
            "One": named("one"),
            "Many": named("many"),
            "ToOne": subscriber("one", arn("One"), invoke=invoke, BatchConfiguration={"MaxBatchSize": 1}),
            "ToMany": {**subscriber("many", arn("Many"), invoke=invoke), "DependsOn": "ToOne"},
        },
        {"Bus": ref("Bus"), "Reports": ref("Reports")},
    )
    toy.clients.client("eventbridgev2").put_events(EventBusArn=outputs["Bus"], Entries=[entry(1)])
    got = [json.loads(toy.receive(outputs["Reports"])["Body"]) for _ in range(2)]
    assert sorted(got) == [["dict", "one"], ["list", "many"]]


def failing(name: str, delivery: Any, target: Any, extra: Any = None) -> dict[str, Any]:
    return {
        "Bus": bus(name),
        "Failures": queue(),
        "Role": working_role(),
        "Delivery": delivery,
        **(extra or {}),
        "Subscriber": subscriber(
            name,
            target,
            invoke={"LambdaParameters": {"InvocationType": "REQUEST_RESPONSE"}},
            RetryPolicy={"MaxRetryAttempts": 2},
            OnFailureConfiguration={"Arn": arn("Failures")},
        ),
    }


def test_a_function_that_fails_is_retried_then_recorded_without_its_payload(toy: Toy) -> None:
    code = REPORTING + 'def handler(event, context): report("called"); raise ValueError("no")'
    extra = {
        "Reports": queue(),
        "Function": function(code, Environment={"Variables": {"REPORTS": ref("Reports")}}),
    }
    both = role(allow("lambda:InvokeFunction"), allow("sqs:SendMessage"))
    outputs = toy.deploy(
        "fails",
        failing("fails", both, arn("Function"), extra),
        {"Bus": ref("Bus"), "Failures": ref("Failures"), "Reports": ref("Reports")},
    )
    toy.clients.client("eventbridgev2").put_events(EventBusArn=outputs["Bus"], Entries=[entry(7)])
    message = toy.receive(outputs["Failures"])
    record = json.loads(message["Body"])
    assert (record["version"], record["errorCode"]) == ("1.0", "COMPUTE_EXECUTION_ERROR")
    assert (record["exhaustedRetryCondition"], record["retryAttempts"]) == ("MaximumRetryAttempts", 2)
    assert [found["deduplicationId"] for found in record["failedMessages"]] == ["row-7"]
    assert set(message["MessageAttributes"]) == {
        "ERROR_CODE",
        "ERROR_MESSAGE",
        "SUBSCRIBER_ARN",
        "TARGET_ARN",
        "BUS_ARN",
        "EXHAUSTED_RETRY_CONDITION",
        "RETRY_ATTEMPTS",
    }
    assert [json.loads(toy.receive(outputs["Reports"])["Body"]) for _ in range(3)] == ["called"] * 3
    assert toy.metric("OnFailureDestinationDelivered") >= 1


def test_a_delivery_role_without_permission_ends_in_the_failure_queue(toy: Toy) -> None:
    target = "arn:aws:lambda:us-east-1:000000000000:function:anything"
    denied = failing("denied", role(allow("sqs:SendMessage")), target)
    outputs = toy.deploy("denied", denied, {"Bus": ref("Bus"), "Failures": ref("Failures")})
    toy.clients.client("eventbridgev2").put_events(EventBusArn=outputs["Bus"], Entries=[entry(8)])
    assert json.loads(toy.receive(outputs["Failures"])["Body"])["errorCode"] == "ACCESS_DENIED"


def test_a_target_that_is_gone_ends_in_the_failure_queue(toy: Toy) -> None:
    target = "arn:aws:lambda:us-east-1:000000000000:function:gone"
    both = role(allow("lambda:InvokeFunction"), allow("sqs:SendMessage"))
    outputs = toy.deploy("gone", failing("gone", both, target), {"Bus": ref("Bus"), "Failures": ref("Failures")})
    toy.clients.client("eventbridgev2").put_events(EventBusArn=outputs["Bus"], Entries=[entry(9)])
    assert json.loads(toy.receive(outputs["Failures"])["Body"])["errorCode"] == "RESOURCE_NOT_FOUND"


def test_a_failure_queue_the_role_may_not_write_to_loses_the_event_and_counts_it(toy: Toy) -> None:
    before = toy.metric("OnFailureDestinationFailed")
    target = "arn:aws:lambda:us-east-1:000000000000:function:gone"
    outputs = toy.deploy("unwritable", failing("unwritable", role(), target), {"Bus": ref("Bus")})
    toy.clients.client("eventbridgev2").put_events(EventBusArn=outputs["Bus"], Entries=[entry(10)])
    wait_for(lambda: toy.metric("OnFailureDestinationFailed") == before + 1)
    assert toy.metric("EventsDropped") >= 1


def test_a_function_publishes_only_when_its_role_may(toy: Toy) -> None:
    code = (
        "import boto3, os\n"
        "def handler(event, context):\n"
        '    try: return boto3.client("eventbridgev2").put_events(EventBusArn=os.environ["BUS"],\n'
        '        Entries=[{"Source": "toy", "DetailType": "d", "Detail": "{}"}])["Entries"][0]["SuccessCode"]\n'
        '    except Exception as error: return error.response["Error"]["Code"]\n'
    )

    def publishing(role_name: str) -> dict[str, Any]:
        return function(code, role_name=role_name, Environment={"Variables": {"BUS": ref("Bus")}})

    resources = {
        "Bus": bus("roles"),
        "Publisher": role(allow("events:PutEvents", ref("Bus"))),
        "Other": role(allow("events:PutEvents", "arn:aws:events:us-east-1:000000000000:event-busv2/other/*")),
        "May": publishing("Publisher"),
        "MayNot": publishing("Other"),
    }
    outputs = toy.deploy("roles", resources, {"May": ref("May"), "MayNot": ref("MayNot")})
    functions = toy.clients.client("lambda")
    answers = {
        name: json.loads(functions.invoke(FunctionName=outputs[name], Payload=b"{}")["Payload"].read())
        for name in ("May", "MayNot")
    }
    assert answers == {"May": "PUBLISHED", "MayNot": "AccessDeniedException"}
