"""A small AWS (moto) with an admitted upload, for the tests of finish. The bus and the intake function are recorded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import boto3

from functions.events.publisher import Publisher
from functions.finish.announce import Announcer
from functions.finish.complete import Completion
from functions.finish.tick import Tick
from functions.intake.records import open_csv
from functions.settings import Limits
from functions.uploads.model import Counts, RowItem, Upload
from functions.uploads.table import UploadsTable

REGION = "eu-west-1"
BUCKET = "uploads-bucket"
KEY = "uploads/Q4 leads.csv"
START = 1_000_000
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


class World:
    """Everything a tick touches. `now` is the clock; move it to let time pass."""

    def __init__(self) -> None:
        self.now = float(START)
        dynamodb = _made("resource", "dynamodb")
        self.raw_table = dynamodb.create_table(
            TableName="prospects",
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
            BillingMode="PAY_PER_REQUEST",
        )
        self.table = UploadsTable(self.raw_table)
        self.s3 = _made("client", "s3")
        self.s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
        self.s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
        self._sns = _made("client", "sns")
        self._topic = self._sns.create_topic(Name="alerts")["TopicArn"]
        self._sqs = _made("client", "sqs")
        self._mailbox = self._sqs.create_queue(QueueName="mailbox")["QueueUrl"]
        self._sns.subscribe(TopicArn=self._topic, Protocol="sqs", Endpoint=f"arn:aws:sqs:{REGION}:123456789012:mailbox")
        self.bus = RecordedBus()
        self.intake = RecordedLambda()

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
            "task": "{}",
            "prompt_version": "t@1",
            "columns": ("email", "name", "notes"),
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
        }
        upload = Upload(**(values | changes))
        self.table.begin_object(key, version, len(csv))
        assert self.table.admit(upload)
        return upload

    def end_rows(self, *rows: RowItem) -> None:
        for row in rows:
            assert self.table.put_row(row)

    def tick(self, lasting_s: float = 60) -> dict[str, int]:
        """One invocation of the function that may last so long."""
        publisher = Publisher(self.bus, "arn:bus", sleep=lambda _: None)
        return Tick(
            self.table,
            Completion(self.table, self.s3, retention_days=10, clock=self.clock),
            Announcer(self.table, publisher, self._sns, self._topic),
            self.intake,  # type: ignore[arg-type]
            intake_function="intake",
            tick_s=60,
            deadline=self.now + lasting_s,
            clock=self.clock,
        ).run()

    def clock(self) -> float:
        return self.now

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
