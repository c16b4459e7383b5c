"""A small AWS (moto) with an admitted upload, for the tests of finish. The bus and the intake function are recorded."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from functools import cache
from typing import Any

import boto3

from functions.classify.effect_item import effect_item, payload_hash
from functions.classify.task import build_task
from functions.effects.outcomes import Outcome
from functions.effects.record import EffectRecord
from functions.effects.states import State
from functions.effects.table import EffectTable
from functions.events.publisher import Publisher
from functions.finish.build import Clients, build_tick
from functions.intake.records import open_csv
from functions.settings import FinishSettings, Limits, TaskSettings
from functions.uploads.keys import record_id
from functions.uploads.model import Counts, RowItem, Upload
from functions.uploads.sweeps import SweepsTable
from functions.uploads.table import UploadsTable
from tests.unit.finish_fakes import RecordedBus, RecordedLambda, create_prospects

REGION = "eu-west-1"
BUCKET = "uploads-bucket"
KEY = "uploads/Q4 leads.csv"
START = 1_800_000_000
TASK = build_task(TaskSettings())
CSV = (
    b"name,email,notes\n"
    b"Ada Quill,ada@example.com,Asked for a quote\n"
    b"Ben Marsh,not-an-address,\n"
    b"Ada Quill,ADA@example.com,Again\n"
    b",,\n"
    b'Cleo Moor,cleo@example.com,"two\nlines"\n'
    b"Dora Pike,dora@example.com,=1+1\n"
)
"""Six records: 1 valid, 2 rejected, 3 duplicate of 1, 4 blank, 5 valid (two lines), 6 valid."""


@cache
def _made(kind: str, service: str) -> Any:
    """Clients are dear to make and hold no state: moto answers those that are made once just as well."""
    session = boto3.Session(aws_access_key_id="testing", aws_secret_access_key="testing", region_name=REGION)
    return getattr(session, kind)(service)


class World:
    """Everything a tick touches. `now` is the clock; move it to let time pass."""

    def __init__(self) -> None:
        self.now = float(START)
        dynamodb = _made("resource", "dynamodb")
        self.raw_table = create_prospects(dynamodb)
        self.table = UploadsTable(self.raw_table, clock=self.clock)
        self.sweeps = SweepsTable(self.raw_table, clock=self.clock)
        self.idempotency = dynamodb.create_table(
            TableName="idempotency",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        self.effects = EffectTable(self.idempotency)
        self.s3 = _made("client", "s3")
        self.s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        self.s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        self._sns = _made("client", "sns")
        self._topic = self._sns.create_topic(Name="alerts")["TopicArn"]
        self._sqs = _made("client", "sqs")
        self._mailbox = self._sqs.create_queue(QueueName="mailbox")["QueueUrl"]
        self._sns.subscribe(TopicArn=self._topic, Protocol="sqs", Endpoint=f"arn:aws:sqs:{REGION}:123456789012:mailbox")
        self.queue = self._sqs.create_queue(QueueName="classify")["QueueUrl"]
        self.settings = FinishSettings(
            uploads_bucket=BUCKET,
            prospects_table="prospects",
            idempotency_table="idempotency",
            event_bus_arn="arn:bus",
            alerts_topic_arn=self._topic,
            intake_function_name="intake",
            classify_queue_url=self.queue,
            upload_retention_days=10,
        )
        self.bus = RecordedBus()
        self.intake = RecordedLambda()
        self.counted: Counter[str] = Counter()

    def admit(self, csv: bytes = CSV, *, upload_id: str = "u-1", key: str = KEY, **changes: Any) -> Upload:
        """Store the object and its META as intake does, published unless said otherwise."""
        version = self.s3.put_object(Bucket=BUCKET, Key=key, Body=csv)["VersionId"]
        file = open_csv([csv], Limits())
        records = list(file.records())
        found = {name: sum(r.outcome == name for r in records) for name in ("valid", "rejected", "duplicate", "blank")}
        values: dict[str, Any] = {
            "upload_id": upload_id,
            "state": "running",
            "bucket": BUCKET,
            "object_key": key,
            "version_id": version,
            "sha256": hashlib.sha256(csv).hexdigest(),
            "bytes": len(csv),
            "created_at": START,
            "task": TASK.to_json(),
            "prompt_version": TASK.prompt_version,
            "columns": TASK.columns,
            "limits": Limits().model_dump(),
            "encoding": file.encoding,
            "encoding_guessed": file.encoding_guessed,
            "delimiter": file.delimiter,
            "header": file.header,
            "counts": Counts(
                records=len(records),
                valid=found["valid"],
                rejected=found["rejected"],
                duplicates=found["duplicate"],
                blank=found["blank"],
            ),
            "worst_case_microusd": 99,
            "published": True,
            "checkpoint": len(records),
        }
        upload = Upload(**(values | changes))
        self.table.begin_object(key, version, len(csv))
        assert self.table.admit(upload) == "admitted"
        return upload

    def end_rows(self, *rows: RowItem) -> None:
        for row in rows:
            assert self.table.put_row(row)

    def tick(self, lasting_s: float = 60, **settings: Any) -> dict[str, int]:
        """One invocation of the function that may last so long; `settings` override those of the world."""
        clients = Clients(
            prospects=self.raw_table,
            idempotency=self.idempotency,
            s3=self.s3,
            sns=self._sns,
            sqs=self._sqs,
            lambda_=self.intake,  # type: ignore[arg-type]
            events=self.bus,
        )
        return build_tick(
            self.settings.model_copy(update=settings),
            clients,
            deadline=self.now + lasting_s,
            clock=self.clock,
            publisher=Publisher(self.bus, "arn:bus", sleep=lambda _: None),
            count=self.counted.update,
        ).run()

    def ticks(self, times: int, every_s: float = 60, **settings: Any) -> list[dict[str, int]]:
        """So many ticks, with the time between them."""
        ends = []
        for _ in range(times):
            ends.append(self.tick(**settings))
            self.now += every_s
        return ends

    def until_swept(self, **settings: Any) -> dict[str, int]:
        """Ticks a minute apart until one sweeps; what it said."""
        for _ in range(70):
            [ends] = self.ticks(1, **settings)
            if ends.keys() & {"swept", "sweeping", "stopped"}:
                return ends
        raise AssertionError("nothing was swept")

    def clock(self) -> float:
        return self.now

    def key(self, number: int, csv: bytes = CSV) -> str:
        """The key of a row of a file."""
        record = next(record for record in open_csv([csv], Limits()).records() if record.number == number)
        return TASK.key(record.fields)

    def store(self, number: int, state: State, outcome: Outcome | None = None, csv: bytes = CSV, **values: Any) -> None:
        """What the effect store holds of the key of a row."""
        record = next(record for record in open_csv([csv], Limits()).records() if record.number == number)
        item = effect_item(TASK, TASK.key(record.fields), TASK.rendered(record.fields))
        stored: dict[str, Any] = {"attempt": 1, "payload_hash": payload_hash(item), "origin": f"u-1/{number}"}
        held = EffectRecord(id=item["id"], state=state, outcome=outcome, **(stored | values))
        self.idempotency.put_item(Item=held.model_dump(mode="json", exclude_none=True))

    def stored(self, number: int) -> EffectRecord | None:
        return self.effects.read(record_id(TASK.name, self.key(number)))

    def put_on_the_queue(self, count: int = 1) -> None:
        for _ in range(count):
            self._sqs.send_message(QueueUrl=self.queue, MessageBody="{}")

    def drain_the_queue(self) -> None:
        self._sqs.purge_queue(QueueUrl=self.queue)

    def rows_on_the_bus(self) -> list[tuple[int, str]]:
        """Row number and deduplication id of every row event that was put, repeats included."""
        return [
            (json.loads(entry["Detail"])["data"]["row_number"], entry["SystemMetadata"]["DeduplicationId"])
            for entry in self.bus.entries
            if entry["DetailType"] == "prospect.submitted"
        ]

    def rows(self, upload_id: str = "u-1") -> dict[int, RowItem]:
        return {row.row_number: row for row in self.table.iter_rows(upload_id)}

    def mails(self) -> list[dict[str, str]]:
        """Every summary sent so far and not yet taken out."""
        found = []
        while messages := self._sqs.receive_message(QueueUrl=self._mailbox).get("Messages"):
            for message in messages:
                found.append(json.loads(message["Body"]))
                self._sqs.delete_message(QueueUrl=self._mailbox, ReceiptHandle=message["ReceiptHandle"])
        return found

    def results(self, upload_id: str = "u-1") -> str:
        upload = self.upload(upload_id)
        assert upload.results_key is not None
        body = self.s3.get_object(Bucket=BUCKET, Key=upload.results_key)["Body"].read()
        return str(body.decode("utf-8-sig"))

    def upload(self, upload_id: str = "u-1") -> Upload:
        upload = self.table.get_upload(upload_id)
        assert upload is not None
        return upload

    def still_open(self) -> list[str]:
        return [seen.upload_id for seen in self.table.open_uploads()]


def a_row(number: int, outcome: str = "classified", **changes: Any) -> RowItem:
    """The terminal item of a row of upload u-1."""
    values: dict[str, Any] = {"upload_id": "u-1", "row_number": number, "line": number + 1, "key": f"key-{number}"}
    values |= {"outcome": outcome, "label": "hot" if outcome == "classified" else "", "cost_microusd": 100}
    return RowItem(**(values | changes))
