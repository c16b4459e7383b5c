"""One AWS account in memory: the real intake and classify workers on moto, every call counted, a model that costs
nothing. For a process of its own: it sets the environment that the handlers read when they are imported.
"""

from __future__ import annotations

import itertools
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import boto3
from moto import mock_aws

from functions.intake.handler import Intake
from functions.intake.handler import build as build_intake
from functions.settings import ClassifySettings, IntakeSettings

REGION = "us-east-1"
BUCKET, PROSPECTS, EFFECTS = "uploads", "prospects", "idempotency"
BUS = f"arn:aws:events:{REGION}:111122223333:event-busv2/prospects/abcdefghijklmnopqrstuvwxy"
TOPIC = f"arn:aws:sns:{REGION}:111122223333:alerts"
WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"})
INVOCATION_S = 900.0
Ask = Callable[[Mapping[str, Any], Callable[[], bool]], Any]


class Bus:
    """Accepts everything and keeps the last event of each deduplication id, as `detail-type` and detail."""

    def __init__(self) -> None:
        self.calls = 0
        self.bytes = 0
        self.events: dict[str, str] = {}

    def put_events(self, *, EventBusArn: str, Entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:  # noqa: ARG002, N803
        self.calls += 1
        for entry in Entries:
            self.bytes += len(entry["Detail"].encode())
            self.events[entry["SystemMetadata"]["DeduplicationId"]] = _body(entry)
        return {"Entries": [{"EventId": "e", "SuccessCode": "PUBLISHED"} for _ in Entries]}


def _body(entry: Mapping[str, Any]) -> str:
    detail = json.loads(entry["Detail"])
    return json.dumps({"version": "0", "id": "e", "detail-type": entry["DetailType"], "detail": detail})


class _Alerts:
    def publish(self, **_: Any) -> dict[str, Any]:
        return {}


class _Session(boto3.Session):
    def __init__(self, bus: Bus) -> None:
        super().__init__(region_name=REGION)
        self._stand_ins: Mapping[str, Any] = {"eventbridgev2": bus, "sns": _Alerts()}

    def client(self, service_name: str, **arguments: Any) -> Any:  # type: ignore[override]
        return self._stand_ins.get(service_name) or super().client(service_name, **arguments)  # type: ignore[call-overload]


class Account:
    """`calls` counts every call to DynamoDB, S3 and SQS by operation; reset it with `calls.clear()`."""

    def __init__(self) -> None:
        self.bus = Bus()
        self.calls: Counter[str] = Counter()
        self._session = _Session(self.bus)
        boto3.setup_default_session(region_name=REGION)
        for session in (self._session, boto3.DEFAULT_SESSION):
            for service in ("dynamodb", "s3", "sqs"):
                session.events.register(f"before-call.{service}", self._count)  # type: ignore[union-attr]
        self.dynamodb: Any = boto3.resource("dynamodb")
        self.sqs: Any = boto3.client("sqs")
        self._s3: Any = boto3.client("s3")
        self._s3.create_bucket(Bucket=BUCKET)
        self._s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        self.prospects = create_table(self.dynamodb, PROSPECTS, "pk", "sk")
        self.effects = create_table(self.dynamodb, EFFECTS, "id")
        self.queue, self._dlq = (self.sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("rows", "rows-dlq"))
        self._numbers = itertools.count(1)
        self.intake: Intake = build_intake(IntakeSettings.model_validate(_intake_settings()), self._session)

    def upload(self, content: bytes) -> int:
        """Upload a file and let intake take it in; how many events that put on the bus."""
        key, before = f"uploads/{next(self._numbers)}.csv", len(self.bus.events)
        version = self._s3.put_object(Bucket=BUCKET, Key=key, Body=content)["VersionId"]
        event = {
            "source": "aws.s3",
            "detail-type": "Object Created",
            "detail": {"bucket": {"name": BUCKET}, "object": {"key": key, "size": len(content), "version-id": version}},
        }
        self.intake.handle(event, INVOCATION_S)
        return len(self.bus.events) - before

    def worker(self, ask: Ask, **changed: Any) -> Any:
        """The classify worker, asking the model through `ask`."""
        os.environ.update({name.upper(): str(value) for name, value in self._classify_settings().items()})
        from functions.classify.handler import build_worker  # noqa: PLC0415 - it reads its environment on import

        settings = ClassifySettings.model_validate(self._classify_settings() | changed)
        return build_worker(settings, cast(Any, ask))

    def messages(self, bodies: Sequence[str], receives: int = 1) -> list[Any]:
        """Messages as Lambda hands them over, with receipts that the queue does not know: for rows that go well."""
        from functions.classify.row_event import Message  # noqa: PLC0415 - with the worker

        return [Message(f"m{number}", f"r{number}", body, receives) for number, body in enumerate(bodies)]

    def received(self, body: str, receives: int) -> Any:
        """A message in flight, with a receipt that the queue knows."""
        from functions.classify.row_event import Message  # noqa: PLC0415 - with the worker

        self.sqs.send_message(QueueUrl=self.queue, MessageBody=body)
        got = self.sqs.receive_message(QueueUrl=self.queue, VisibilityTimeout=600)["Messages"][0]
        return Message(got["MessageId"], got["ReceiptHandle"], got["Body"], receives)

    @property
    def writes(self) -> int:
        return sum(self.calls[name] for name in WRITES)

    def _classify_settings(self) -> dict[str, Any]:
        return {
            "prospects_table": PROSPECTS,
            "idempotency_table": EFFECTS,
            "classify_queue_url": self.queue,
            "classify_dlq_url": self._dlq,
            "alerts_topic_arn": TOPIC,
            "anthropic_secret_id": "none",
        }

    def _count(self, model: Any, **_: Any) -> None:
        self.calls[model.name] += 1


def _intake_settings() -> dict[str, Any]:
    return {
        "uploads_bucket": BUCKET,
        "prospects_table": PROSPECTS,
        "idempotency_table": EFFECTS,
        "event_bus_arn": BUS,
        "alerts_topic_arn": TOPIC,
        "max_upload_microusd": 0,
        "max_day_microusd": 0,
    }


def create_table(dynamodb: Any, name: str, *keys: str) -> Any:
    kinds = ("HASH", "RANGE")
    return dynamodb.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, kinds, strict=False)],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
        BillingMode="PAY_PER_REQUEST",
    )


@contextmanager
def account() -> Iterator[Account]:
    """A new one. The environment of this process names its Region and keys that are none."""
    os.environ.update(
        AWS_ACCESS_KEY_ID="testing",
        AWS_SECRET_ACCESS_KEY="testing",  # noqa: S106
        AWS_DEFAULT_REGION=REGION,
        AWS_REGION=REGION,
        POWERTOOLS_METRICS_NAMESPACE="bench",
        LOG_LEVEL="ERROR",
        POWERTOOLS_LOG_LEVEL="ERROR",
    )
    with mock_aws():
        yield Account()
