"""What stands in for the bus and the intake function in the tests of finish, and the table as it is deployed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


class RecordedBus:
    """In place of boto3's `eventbridgev2` client: keeps what is published, suppresses repeats as the bus does."""

    def __init__(self) -> None:
        self.entries: list[Mapping[str, Any]] = []
        self.seen: set[str] = set()

    def put_events(self, *, EventBusArn: str, Entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:  # noqa: N803
        results = []
        for entry in Entries:
            dedup_id = entry["SystemMetadata"]["DeduplicationId"]
            results.append({"EventId": "e", "SuccessCode": "DEDUPLICATED" if dedup_id in self.seen else "PUBLISHED"})
            self.seen.add(dedup_id)
            self.entries.append(entry)
        return {"FailedEntryCount": 0, "Entries": results}


class RecordedLambda:
    def __init__(self) -> None:
        self.payloads: list[Any] = []

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        assert (FunctionName, InvocationType) == ("intake", "Event")
        self.payloads.append(json.loads(Payload))
        return {"StatusCode": 202}


def create_prospects(dynamodb: Any, name: str = "prospects") -> Any:
    return dynamodb.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "attention")],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "attention",
                "KeySchema": [
                    {"AttributeName": "attention", "KeyType": "HASH"},
                    {"AttributeName": "sk", "KeyType": "RANGE"},
                ],
                "Projection": {
                    "ProjectionType": "INCLUDE",
                    "NonKeyAttributes": ["upload_id", "key", "outcome", "attempt"],
                },
            }
        ],
        BillingMode="PAY_PER_REQUEST",
    )
