"""The `idempotency` table on moto, and a clock that tests move."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws


class MovableClock:
    """Seconds since the epoch, moved by the test."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture(scope="module")
def one_table() -> Iterator[Any]:
    """Made once for the tests of a module: making it takes longer than most of them."""
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        patch.setenv("AWS_ACCESS_KEY_ID", "testing")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        yield boto3.resource("dynamodb", region_name="eu-west-1").create_table(
            TableName="idempotency",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )


@pytest.fixture
def table(one_table: Any) -> Any:
    """The table, empty."""
    for item in one_table.scan()["Items"]:
        one_table.delete_item(Key={"id": item["id"]})
    return one_table
