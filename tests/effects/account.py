"""One account on moto: the tables and the bucket of a world, and copies of what they hold."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.backends import get_backend
from moto.core.models import DEFAULT_ACCOUNT_ID

from tests.effects.short_cut import take_short_cut
from tests.unit.finish_fakes import create_prospects

REGION = "eu-west-1"
_NUMBERS = itertools.count(1)


@contextmanager
def on_moto() -> Iterator[None]:
    """While open, accounts can be made."""
    with pytest.MonkeyPatch.context() as patch, mock_aws():
        # Two shards of an upload's rows are as good as sixteen, and each one costs a query a count.
        patch.setattr("functions.uploads.keys.SHARDS", 2)
        patch.setattr("functions.uploads.rows.SHARDS", 2)
        # So that one of the small results is written in parts, and the others are not.
        patch.setattr("functions.finish.storage.PART_BYTES", 512)
        patch.setattr("moto.s3.models.S3_UPLOAD_PART_MIN_SIZE", 1)
        made.cache_clear()
        yield


@cache
def made(kind: str, service: str) -> Any:
    """boto3's clients and resources are dear to make and hold no state."""
    session = boto3.Session(aws_access_key_id="testing", aws_secret_access_key="testing", region_name=REGION)
    client = getattr(session, kind)(service)
    if service == "dynamodb":
        take_short_cut(client.meta.client)
    return client


class Account:
    """Tables and a bucket that nobody else has."""

    def __init__(self) -> None:
        number = next(_NUMBERS)
        self.bucket = f"uploads-{number}"
        self.s3 = made("client", "s3")
        self.s3.create_bucket(Bucket=self.bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
        self.s3.put_bucket_versioning(Bucket=self.bucket, VersioningConfiguration={"Status": "Enabled"})
        dynamodb = made("resource", "dynamodb")
        self.prospects = create_prospects(dynamodb, f"prospects-{number}")
        self.idempotency = dynamodb.create_table(
            TableName=f"idempotency-{number}",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )

    def put_object(self, key: str, content: bytes, now: float) -> str:
        """Store an object at that time; its version."""
        version: str = self.s3.put_object(Bucket=self.bucket, Key=key, Body=content)["VersionId"]
        # moto stamps it with the real time.
        self._in_moto().keys[key].last_modified = datetime.fromtimestamp(now, UTC).replace(tzinfo=None)
        return version

    def get_object(self, key: str) -> tuple[bytes, dict[str, str]]:
        """The newest version, and its metadata."""
        found = self.s3.get_object(Bucket=self.bucket, Key=key)
        return found["Body"].read(), found["Metadata"]

    def unfinished_parts(self) -> int:
        """Multipart uploads that were neither completed nor aborted."""
        return len(self._in_moto().multiparts)

    # --- copies -----------------------------------------------------------------------------------------------------

    def state(self) -> Any:
        """A copy of what the tables hold, and which objects there are."""
        keys = self._in_moto().keys
        return [copy.deepcopy(table.items) for table in self._tables()], {name: keys.getlist(name)[:] for name in keys}

    def go_back(self, state: Any) -> None:
        """Hold what the copy holds, which stays as it is."""
        items, objects = state
        for table, held in zip(self._tables(), items, strict=True):
            table.items = copy.deepcopy(held)
        bucket = self._in_moto()
        bucket.multiparts.clear()
        bucket.keys.clear()
        for name, versions in objects.items():
            bucket.keys.setlist(name, versions[:])

    def items(self) -> list[dict[str, Any]]:
        """All items of both tables, in DynamoDB's spelling, read past the API."""
        tables = (list(table.all_items()) for table in self._tables())
        return [{name: _spelled(value) for name, value in item.attrs.items()} for items in tables for item in items]

    def objects(self) -> dict[str, list[str]]:
        """The ETags of every object's versions, oldest first."""
        keys = self._in_moto().keys
        return {name: ["etag" + version.etag.strip('"') for version in keys.getlist(name)] for name in keys}

    def _tables(self) -> list[Any]:
        tables = get_backend("dynamodb")[DEFAULT_ACCOUNT_ID][REGION].tables
        return [tables[self.prospects.name], tables[self.idempotency.name]]

    def _in_moto(self) -> Any:
        return get_backend("s3")[DEFAULT_ACCOUNT_ID]["aws"].buckets[self.bucket]


def _spelled(attribute: Any) -> dict[str, Any]:
    match attribute.type:
        case "M":
            return {"M": {name: _spelled(value) for name, value in attribute.value.items()}}
        case "L":
            return {"L": [_spelled(value) for value in attribute.value]}
        case kind:
            return {kind: attribute.value}
