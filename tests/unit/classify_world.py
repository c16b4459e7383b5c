"""The classify worker on moto, with a model whose replies the test supplies.

The clients live as long as a test module, since making them costs more than a test; tables and queues are new in every
world.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import boto3
import pytest
from moto import mock_aws

from functions.api_key import KeyUnavailableError
from functions.classify.billing import Answer, ApiError, NoAnswer, verdict_of
from functions.classify.delays import Delays
from functions.classify.effect import build_store, guard
from functions.classify.effect_item import effect_item, payload_hash
from functions.classify.queues import Queues
from functions.classify.reception import Reception
from functions.classify.results import Result
from functions.classify.row_event import Message
from functions.classify.settlement import Settlement
from functions.classify.task import build_task
from functions.classify.worker import Worker
from functions.effects.record import EffectRecord
from functions.events.envelope import Envelope
from functions.settings import ClassifySettings, TaskSettings
from functions.uploads.keys import meta_address, open_address, record_id
from functions.uploads.model import Counts, OpenUpload, RowItem, Upload
from functions.uploads.table import UploadsTable
from tests.unit.classify_server import message

REGION = "eu-west-1"
UPLOAD = "u-0123456789abcdef01234567"
TASK = build_task(TaskSettings())
START = 1_800_000_000.0
INVOCATION_S = 60.0
MAX_RECEIVES = 3
BASE_S = 4.0

Reply = Callable[[Mapping[str, Any]], Answer | NoAnswer]


def fields(name: str = "Ada", **more: str) -> dict[str, str]:
    return {"email": f"{name.lower()}@example.com", "name": name, **more}


def said(text: str = '{"label":"hot"}', **changed: Any) -> Answer:
    return Answer(200, message(text, **changed), request_id="req_1")


def refused(status: int, code: str = "", retry_after_s: float | None = None) -> Answer:
    return Answer(status, b"", "req_2", retry_after_s, ApiError("t", code, "m"))


def event(row_number: int = 1, row_fields: Mapping[str, str] | None = None, **changed: Any) -> dict[str, Any]:
    """The body of a row's message, as a dict; `changed` replaces members of its data."""
    row_fields = fields() if row_fields is None else row_fields
    data = {
        "upload_id": UPLOAD,
        "row_number": row_number,
        "line": row_number + 1,
        "key": TASK.key(row_fields),
        "fields": dict(row_fields),
        **changed,
    }
    envelope = Envelope.new(
        "prospect.submitted", data, correlation_id=data["upload_id"], source_agent="intake@1", clock=lambda: START
    )
    return {
        "version": "0",
        "id": "e",
        "detail-type": "prospect.submitted",
        "source": "prospect-uploader",
        "account": "1",
        "time": "2027-01-15T08:00:00Z",
        "region": REGION,
        "resources": [],
        "detail": envelope.to_detail(),
    }


class SpyQueues(Queues):
    """Remembers when messages were told to come back."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.came_back: list[int] = []

    def come_back(self, receipt: str, seconds: int) -> None:
        self.came_back.append(seconds)
        super().come_back(receipt, seconds)


class World:
    """Tables, queues, clock and model. `deliver` hands messages to the worker as SQS would."""

    def __init__(self, aws: Aws, max_paid_attempts: int = 1) -> None:
        number = next(_NUMBERS)
        self.now = START
        self.key_missing: KeyUnavailableError | None = None
        self.billed = 0
        self.requests: list[dict[str, Any]] = []
        self.reply: Reply = lambda request: said()
        self.replies: list[Answer | NoAnswer] = []
        self.dynamodb, self.sqs = aws.dynamodb, aws.sqs
        self.queue = self.sqs.create_queue(QueueName=f"classify-{number}")["QueueUrl"]
        self.dlq = self.sqs.create_queue(QueueName=f"classify-dlq-{number}")["QueueUrl"]
        self.settings = ClassifySettings(
            prospects_table=f"prospects-{number}",
            idempotency_table=f"idempotency-{number}",
            classify_queue_url=self.queue,
            classify_dlq_url=self.dlq,
            alerts_topic_arn="arn:aws:sns:eu-west-1:1:alerts",
            max_paid_attempts=max_paid_attempts,
            max_receives=MAX_RECEIVES,
            backoff_base_s=BASE_S,
        )
        create_tables(self.dynamodb, self.settings.prospects_table, self.settings.idempotency_table)
        self.prospects = self.dynamodb.Table(self.settings.prospects_table)
        self.idempotency = self.dynamodb.Table(self.settings.idempotency_table)
        self.uploads = UploadsTable(self.prospects)
        self.store = build_store(self.idempotency, self.settings, self.clock)
        self.queues = SpyQueues(self.sqs, self.queue, self.dlq)
        self.worker = self._worker()
        self.put_upload()

    def clock(self) -> float:
        return self.now

    def _worker(self) -> Worker:
        settlement = Settlement(
            rows=self.uploads,
            store=self.store,
            queues=self.queues,
            delays=Delays(BASE_S, 60.0, random.Random(7)),
            max_receives=MAX_RECEIVES,
            max_paid_attempts=self.settings.max_paid_attempts,
            clock=self.clock,
        )
        return Worker(
            uploads=self.uploads,
            reception=Reception(uploads=self.uploads, settlement=settlement, queues=self.queues, max_hops=4),
            settlement=settlement,
            guarded=guard(self.store, self.ask, model_deadline_s=20.0, clock=self.clock),
        )

    def ask(self, request: Mapping[str, Any], before_send: Callable[[], bool]) -> Answer | NoAnswer:
        if self.key_missing:
            raise self.key_missing
        if not before_send():
            return NoAnswer("out_of_time")
        self.requests.append(dict(request))
        reply = self.replies.pop(0) if self.replies else self.reply(request)
        self.billed += verdict_of(reply).kind in {"read", "unknown"}
        return reply

    # --- what is there beforehand ----------------------------------------------------------------------------------

    def put_upload(self, **changed: Any) -> None:
        upload = Upload(
            **{
                "upload_id": UPLOAD,
                "state": "running",
                "bucket": "b",
                "object_key": "uploads/x.csv",
                "version_id": "v",
                "sha256": "0" * 64,
                "bytes": 1,
                "created_at": int(START),
                "task": TASK.to_json(),
                "prompt_version": TASK.prompt_version,
                "columns": TASK.columns,
                "limits": {},
                "encoding": "utf-8",
                "encoding_guessed": False,
                "delimiter": ",",
                "header": ("email", "name"),
                "counts": Counts(records=100, valid=100),
                "worst_case_microusd": 1,
                **changed,
            }
        )
        self.prospects.put_item(Item={**meta_address(upload.upload_id), **upload.to_item()})
        opened = OpenUpload(upload_id=upload.upload_id)
        self.prospects.put_item(Item={**open_address(upload.upload_id), **opened.to_item()})

    # --- what happens ----------------------------------------------------------------------------------------------

    def received(self, body: dict[str, Any] | str, receives: int = 1) -> Message:
        """A message that is in flight, with a receipt that SQS knows."""
        text = body if isinstance(body, str) else json.dumps(body)
        self.sqs.send_message(QueueUrl=self.queue, MessageBody=text)
        got = self.sqs.receive_message(QueueUrl=self.queue, VisibilityTimeout=600)["Messages"][0]
        return Message(got["MessageId"], got["ReceiptHandle"], text, receives)

    def deliver(self, *bodies: dict[str, Any] | str, receives: int = 1) -> list[Result]:
        return self.hand_over([self.received(body, receives) for body in bodies])

    def hand_over(self, messages: Sequence[Message]) -> list[Result]:
        results = {result.message_id: result for result in self.worker.handle(messages, self.now + INVOCATION_S)}
        assert len(results) == len(messages)
        return [results[one.message_id] for one in messages]

    def resume(self) -> None:
        """What an operator orders; its publish pass is intake's."""
        assert self.uploads.resume(self.upload(), actor="ada")

    # --- what came of it -------------------------------------------------------------------------------------------

    def upload(self) -> Upload:
        found = self.uploads.get_upload(UPLOAD)
        assert found is not None
        return found

    def told(self) -> list[str]:
        """Serials of what the outbox holds."""
        return [each.announcement.serial for each in self.uploads.open_uploads() if each.announcement]

    def row(self, row_number: int = 1, upload_id: str = UPLOAD) -> RowItem | None:
        return self.uploads.get_row(upload_id, row_number)

    def record(self, row_fields: Mapping[str, str] | None = None) -> EffectRecord | None:
        return self.store.read(record_id(TASK.name, TASK.key(fields() if row_fields is None else row_fields)))

    def dead_letters(self) -> list[tuple[str, dict[str, str]]]:
        """Bodies and attributes in the dead-letter queue, each once."""
        found = []
        while got := self.sqs.receive_message(
            QueueUrl=self.dlq, MaxNumberOfMessages=10, MessageAttributeNames=["All"], VisibilityTimeout=600
        ).get("Messages"):
            for one in got:
                attributes = {name: value["StringValue"] for name, value in one.get("MessageAttributes", {}).items()}
                found.append((one["Body"], attributes))
        return found

    def waiting(self) -> dict[str, int]:
        """How many messages the worker's own queue holds, visible and delayed (not those in flight)."""
        names = {"ApproximateNumberOfMessages": "visible", "ApproximateNumberOfMessagesDelayed": "delayed"}
        got = self.sqs.get_queue_attributes(QueueUrl=self.queue, AttributeNames=list(names))["Attributes"]
        return {mine: int(got[theirs]) for theirs, mine in names.items()}


def someone_elses_claim(world: World, lease_s: float, row_fields: Mapping[str, str] | None = None) -> None:
    """A claim of another owner, alive for `lease_s` from now, on the key of these fields."""
    chosen = fields() if row_fields is None else row_fields
    item = effect_item(TASK, TASK.key(chosen), TASK.rendered(chosen))
    claim = EffectRecord.model_validate(
        {
            "id": item["id"],
            "state": "CLAIMED",
            "attempt": 1,
            "owner": "someone",
            "origin": f"{UPLOAD}/99",
            "payload_hash": payload_hash(item),
            "lease_until_ms": int((world.now + lease_s) * 1000),
            "claimed_at": int(world.now),
        }
    )
    world.idempotency.put_item(Item=claim.model_dump(mode="json", exclude_none=True))


def create_tables(dynamodb: Any, prospects: str, idempotency: str) -> None:
    dynamodb.create_table(
        TableName=idempotency,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    dynamodb.create_table(
        TableName=prospects,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )


class Aws:
    """boto3 on moto, as `aws_on_moto` opens it."""

    def __init__(self) -> None:
        self.dynamodb: Any = boto3.resource("dynamodb", region_name=REGION)
        self.sqs: Any = boto3.client("sqs", region_name=REGION)


_NUMBERS = itertools.count(1)


@contextmanager
def aws_on_moto() -> Iterator[Aws]:
    with pytest.MonkeyPatch.context() as environment, mock_aws():
        environment.setenv("AWS_ACCESS_KEY_ID", "testing")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        yield Aws()
