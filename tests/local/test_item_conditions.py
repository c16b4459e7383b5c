"""A role that may touch some items of a table, as DynamoDB holds it to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.local.toy import Toy, arn, ref

KEYS, ATTRIBUTES = "dynamodb:LeadingKeys", "dynamodb:Attributes"
TRUST = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "arn:aws:iam::000000000000:root"}}


def may(operation: str, keys: str, *attributes: str, index: str = "") -> dict[str, Any]:
    conditions: dict[str, Any] = {"ForAllValues:StringLike": {KEYS: [keys]}}
    if attributes:
        conditions["ForAllValues:StringEquals"] = {ATTRIBUTES: list(attributes)}
    resource = {"Fn::Join": ["", [arn("Items"), index]]} if index else arn("Items")
    return {
        "Effect": "Allow",
        "Action": [f"dynamodb:{operation}"],
        "Resource": resource,
        "Condition": conditions,
    }


ALLOWED = (
    may("GetItem", "open:*"),
    may("BatchGetItem", "open:*"),
    may("PutItem", "open:*"),
    may("ConditionCheckItem", "shut:*"),
    may("UpdateItem", "shut:*", "row_id", "state"),
    may("Query", "yes", index="/index/flagged"),
)


def table() -> dict[str, Any]:
    names = [{"AttributeName": name, "AttributeType": "S"} for name in ("row_id", "flag")]
    index = {
        "IndexName": "flagged",
        "KeySchema": [{"AttributeName": "flag", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    return {
        "Type": "AWS::DynamoDB::Table",
        "Properties": {
            "KeySchema": [{"AttributeName": "row_id", "KeyType": "HASH"}],
            "AttributeDefinitions": names,
            "BillingMode": "PAY_PER_REQUEST",
            "GlobalSecondaryIndexes": [index],
        },
    }


@pytest.fixture(scope="module")
def role(toy: Toy) -> Iterator[tuple[Any, str]]:
    """A DynamoDB client that acts as the role, and the table's name."""
    policy = {"PolicyName": "p", "PolicyDocument": {"Statement": list(ALLOWED)}}
    made = {
        "Type": "AWS::IAM::Role",
        "Properties": {"AssumeRolePolicyDocument": {"Statement": [TRUST]}, "Policies": [policy]},
    }
    outputs = toy.deploy("items", {"Items": table(), "Role": made}, {"Table": ref("Items"), "Role": arn("Role")})
    session = toy.clients.client("sts").assume_role(RoleArn=outputs["Role"], RoleSessionName="one")["Credentials"]
    client = boto3.client(
        "dynamodb",
        endpoint_url=toy.clients.endpoint,
        region_name="us-east-1",
        aws_access_key_id=session["AccessKeyId"],
        aws_secret_access_key=session["SecretAccessKey"],
        aws_session_token=session["SessionToken"],
    )
    yield client, outputs["Table"]
    client.close()


def key(row_id: str) -> dict[str, Any]:
    return {"row_id": {"S": row_id}}


def put(row_id: str) -> dict[str, Any]:
    return {"Item": {**key(row_id), "anything": {"S": "x"}}}


def update(row_id: str, attribute: str) -> dict[str, Any]:
    return {
        "Key": key(row_id),
        "UpdateExpression": "SET #it = :new",
        "ConditionExpression": "attribute_not_exists(#it)",
        "ExpressionAttributeNames": {"#it": attribute},
        "ExpressionAttributeValues": {":new": {"S": "x"}},
    }


def flagged(value: str) -> dict[str, Any]:
    return {
        "IndexName": "flagged",
        "KeyConditionExpression": "flag = :flag",
        "ExpressionAttributeValues": {":flag": {"S": value}},
    }


CALLS: Mapping[str, tuple[str, dict[str, Any], bool]] = {
    "what it may put": ("put_item", put("open:1"), True),
    "what it may not put": ("put_item", put("shut:1"), False),
    "what it may read": ("get_item", {"Key": key("open:1")}, True),
    "what it may not read": ("get_item", {"Key": key("shut:1")}, False),
    "an attribute it may write": ("update_item", update("shut:2", "state"), True),
    "an attribute it may not write": ("update_item", update("shut:2", "decision"), False),
    "that attribute of an item it may not write": ("update_item", update("open:2", "state"), False),
    "a value of the index it may ask for": ("query", flagged("yes"), True),
    "a value of the index it may not ask for": ("query", flagged("no"), False),
}


def allowed(call: Any, **arguments: Any) -> bool:
    try:
        call(**arguments)
    except ClientError as error:
        if error.response["Error"]["Code"] != "AccessDeniedException":
            raise
        return False
    return True


@pytest.mark.parametrize("name", CALLS)
def test_a_condition_on_items_holds(role: tuple[Any, str], name: str) -> None:
    client, table_name = role
    operation, arguments, expected = CALLS[name]
    assert allowed(getattr(client, operation), TableName=table_name, **arguments) is expected


@pytest.mark.parametrize(("keys", "expected"), [(("open:1", "open:2"), True), (("open:1", "shut:1"), False)])
def test_a_batch_is_read_when_each_of_its_items_may_be(
    role: tuple[Any, str], keys: tuple[str, ...], expected: bool
) -> None:
    client, table_name = role
    asked = {table_name: {"Keys": [key(each) for each in keys]}}
    assert allowed(client.batch_get_item, RequestItems=asked) is expected


@pytest.mark.parametrize(
    ("put_key", "checked", "attribute", "expected"),
    [
        ("open:3", "shut:3", "state", True),
        ("shut:3", "shut:4", "state", False),
        ("open:4", "open:5", "state", False),
        ("open:5", "shut:5", "decision", False),
    ],
)
def test_each_item_of_a_transaction_is_judged_by_itself(
    role: tuple[Any, str], put_key: str, checked: str, attribute: str, expected: bool
) -> None:
    client, table_name = role
    condition = {"Key": key(checked), "ConditionExpression": "attribute_not_exists(row_id)"}
    items = [
        {"Put": {"TableName": table_name, **put(put_key)}},
        {"ConditionCheck": {"TableName": table_name, **condition}},
        {"Update": {"TableName": table_name, **update(f"shut:of {put_key}", attribute)}},
    ]
    assert allowed(client.transact_write_items, TransactItems=items) is expected
    found = client.get_item(TableName=table_name, Key=key(put_key)) if put_key.startswith("open:") else {}
    assert ("Item" in found) is expected
