"""The intake worker on moto's S3 and DynamoDB, with a bus and an alerts topic that remember what they were given."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import boto3
from botocore.exceptions import ClientError
from moto import mock_aws

from functions.effects.outcomes import Outcome
from functions.effects.record import EffectRecord
from functions.effects.states import State
from functions.intake.handler import Intake, build
from functions.settings import IntakeSettings
from functions.uploads.model import RowItem, Upload
from functions.uploads.table import UploadsTable
from tests.unit.finish_fakes import create_prospects

BUCKET = "uploads-bucket"
BUS = "arn:aws:events:eu-west-1:111122223333:event-busv2/prospects/abcdefghijklmnopqrstuvwxy"
TOPIC = "arn:aws:sns:eu-west-1:111122223333:alerts"
HEADER = "email,name,company\n"
WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"})
REMAINING_S = 900.0


def csv(rows: int, start: int = 1, header: str = HEADER) -> bytes:
    return (header + "".join(f"p{n}@example.com,Person {n},Firm {n}\n" for n in range(start, start + rows))).encode()


@dataclass
class Bus:
    """Accepts everything, once per deduplication id, unless `refuse` says otherwise."""

    refuse: Callable[[int], Exception | None] = lambda _number: None
    calls: int = 0
    sent: Counter[str] = field(default_factory=Counter)
    details: dict[str, dict[str, Any]] = field(default_factory=dict)

    def put_events(self, *, EventBusArn: str, Entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:  # noqa: N803
        assert EventBusArn == BUS
        self.calls += 1
        if error := self.refuse(self.calls):
            raise error
        for entry in Entries:
            name = entry["SystemMetadata"]["DeduplicationId"]
            self.sent[name] += 1
            self.details[name] = json.loads(entry["Detail"])
        return {"Entries": [{"EventId": "e", "SuccessCode": "PUBLISHED"} for _ in Entries]}

    @property
    def rows(self) -> list[int]:
        """Numbers of the rows on the bus, each once."""
        return sorted(detail["data"]["row_number"] for detail in self.details.values())


@dataclass
class Topic:
    failure: Exception | None = None
    messages: list[str] = field(default_factory=list)

    def publish(self, *, TopicArn: str, Subject: str, Message: str) -> dict[str, Any]:  # noqa: N803
        assert TopicArn == TOPIC
        assert Subject.isascii()
        assert len(Subject) <= 100
        if self.failure:
            raise self.failure
        self.messages.append(Message)
        return {}


class Session(boto3.Session):
    """boto3 for S3 and DynamoDB (made once: making clients costs more than a test), the stand-ins for the rest."""

    def __init__(self) -> None:
        super().__init__("a", "b", region_name="eu-west-1")
        self.calls: Counter[str] = Counter()
        self.stand_ins: dict[str, Any] = {}
        self.events.register("before-call.dynamodb", self._count)
        self.events.register("before-call.s3", self._count)
        self._made: dict[str, Any] = {}

    def client(self, service_name: str, **arguments: Any) -> Any:  # type: ignore[override]
        return self.stand_ins.get(service_name) or self._once(super().client, service_name)

    def resource(self, service_name: str, **arguments: Any) -> Any:  # type: ignore[override]
        return self._once(super().resource, service_name)

    def _once(self, make: Any, service_name: str) -> Any:
        if service_name not in self._made:
            self._made[service_name] = make(service_name)
        return self._made[service_name]

    def _count(self, model: Any, **_: Any) -> None:
        self.calls[model.name] += 1


SESSION = Session()


class World:
    """One account. `now` moves only when a test moves it."""

    def __init__(self) -> None:
        self.now = 1_796_000_000.0
        self.bus = Bus()
        self.topic = Topic()
        self.session = SESSION
        self.session.stand_ins = {"eventbridgev2": self.bus, "sns": self.topic}
        self.calls = self.session.calls = Counter()
        self.s3 = self.session.client("s3")
        self.s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
        self.s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        dynamodb = self.session.resource("dynamodb")
        self.prospects = create_prospects(dynamodb)
        self.idempotency = dynamodb.create_table(
            TableName="idempotency",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        self.table = UploadsTable(self.prospects)
        self.intake = self.deployed()

    def deployed(self, **settings: Any) -> Intake:
        values = {
            "uploads_bucket": BUCKET,
            "prospects_table": "prospects",
            "idempotency_table": "idempotency",
            "event_bus_arn": BUS,
            "alerts_topic_arn": TOPIC,
            "stop_before_timeout_s": 20.0,
        }
        return build(IntakeSettings.model_validate(values | settings), self.session, clock=lambda: self.now)

    # --- doing things ----------------------------------------------------------------------------------------------

    def put(self, body: bytes, key: str = "uploads/leads.csv") -> dict[str, Any]:
        """Upload an object; returns the event S3 would send."""
        version = self.s3.put_object(Bucket=BUCKET, Key=key, Body=body)["VersionId"]
        return created(key, len(body), version)

    def deliver(self, event: Mapping[str, Any], intake: Intake | None = None, remaining_s: float = REMAINING_S) -> None:
        (intake or self.intake).handle(event, remaining_s)

    def submit(self, body: bytes, key: str = "uploads/leads.csv") -> Upload:
        """Upload, deliver, and return what it became."""
        event = self.put(body, key)
        self.deliver(event)
        return self.upload_of(event)

    def tick(self) -> bool:
        """What the tick does for intake: continue an upload whose publisher is dead. Whether there was one."""
        for still_open in self.table.open_uploads():
            upload = self.upload(still_open.upload_id)
            if upload.state == "running" and not upload.published and upload.publisher_until < self.now:
                self.deliver({"continue_upload": upload.upload_id})
                return True
        return False

    def store(self, effect_id: str, outcome: Outcome | None, state: State = State.DONE, **values: Any) -> None:
        record = EffectRecord(
            id=effect_id, state=state, attempt=1, payload_hash="h", outcome=outcome, finished_at=1, **values
        )
        self.idempotency.put_item(Item=record.model_dump(mode="json", exclude_none=True))

    # --- looking at things -----------------------------------------------------------------------------------------

    def upload(self, upload_id: str) -> Upload:
        upload = self.table.get_upload(upload_id)
        assert upload is not None
        return upload

    def object_of(self, event: Mapping[str, Any]) -> Any:
        found = event["detail"]["object"]
        return self.table.get_object(found["key"], found["version-id"])

    def upload_of(self, event: Mapping[str, Any]) -> Upload:
        return self.upload(self.object_of(event).upload_id)

    def rows(self, upload_id: str) -> list[RowItem]:
        return list(self.table.iter_rows(upload_id))

    def everything(self) -> list[dict[str, Any]]:
        return sorted(self.prospects.scan()["Items"], key=lambda item: (item["pk"], item["sk"]))

    @property
    def writes(self) -> int:
        return sum(self.calls[name] for name in WRITES)


@contextmanager
def world() -> Iterator[World]:
    with mock_aws():
        yield World()


def created(key: str, size: int, version_id: str | None, bucket: str = BUCKET) -> dict[str, Any]:
    """EventBridge's "Object Created", as in Amazon S3's documentation of its event structure."""
    found = {"key": key, "size": size, "etag": "e", "sequencer": "0"}
    if version_id is not None:
        found["version-id"] = version_id
    return {
        "version": "0",
        "id": "00000000-0000-4000-8000-000000000001",
        "detail-type": "Object Created",
        "source": "aws.s3",
        "detail": {"version": "0", "bucket": {"name": bucket}, "object": found, "reason": "PutObject"},
    }


def client_error(code: str, message: str = "") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "Operation")
