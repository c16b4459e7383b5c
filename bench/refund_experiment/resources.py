"""Parts of the experiment's templates: tables, roles, references. Data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from functions.refunds.ledger import OPEN_INDEX


def table(key: str, *, expires: str = "") -> dict[str, Any]:
    properties: dict[str, Any] = {
        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
    }
    if expires:
        properties["TimeToLiveSpecification"] = {"AttributeName": expires, "Enabled": True}
    return {"Type": "AWS::DynamoDB::Table", "Properties": properties, **_GOES_WITH_THE_STACK}


def ledger() -> dict[str, Any]:
    """The table `refund-ledger` of our stacks, as its keys and its index go."""
    made = table("row_id")
    made["Properties"]["AttributeDefinitions"] += [
        {"AttributeName": "open", "AttributeType": "S"},
        {"AttributeName": "decided_at", "AttributeType": "N"},
    ]
    keys = [{"AttributeName": "open", "KeyType": "HASH"}, {"AttributeName": "decided_at", "KeyType": "RANGE"}]
    index = {"IndexName": OPEN_INDEX, "KeySchema": keys, "Projection": {"ProjectionType": "ALL"}}
    made["Properties"]["GlobalSecondaryIndexes"] = [index]
    return made


def log() -> dict[str, Any]:
    # Its own, or Lambda would make one for each function that outlives the stack.
    return {"Type": "AWS::Logs::LogGroup", "Properties": {"RetentionInDays": 7}, **_GOES_WITH_THE_STACK}


def role(service: str, statements: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": service}}
    policy = {"Version": "2012-10-17", "Statement": list(statements)}
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {
            "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [trust]},
            "Policies": [{"PolicyName": "experiment", "PolicyDocument": policy}],
        },
    }


def allow(service: str, operations: Sequence[str], resources: Sequence[Any]) -> Mapping[str, Any]:
    actions = [f"{service}:{each}" for each in operations]
    return {"Effect": "Allow", "Action": actions, "Resource": list(resources)}


def arn(name: str) -> dict[str, Any]:
    return {"Fn::GetAtt": [name, "Arn"]}


def ref(name: str) -> dict[str, str]:
    return {"Ref": name}


def sub(text: str) -> dict[str, str]:
    return {"Fn::Sub": text}


_GOES_WITH_THE_STACK = {"DeletionPolicy": "Delete", "UpdateReplacePolicy": "Delete"}
