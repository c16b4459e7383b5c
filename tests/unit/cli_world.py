"""A cloud for the tests of the command: S3 and the table are moto's, and an upload ends at once or as a test says."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from functions.intake.records import open_csv
from functions.intake.refusals import Refused
from functions.settings import Limits
from functions.uploads.model import RowItem
from local.options import LocalCloudOptions
from tests.unit.finish_world import BUCKET, World, a_row

LABELS = ("hot", "warm", "cold")
MICROUSD = 10


def ends_as_labels(row: RowItem) -> RowItem | None:
    """Every valid row is classified; the labels take turns."""
    return row.model_copy(update={"label": LABELS[row.row_number % 3], "cost_microusd": MICROUSD})


class FakeCloud:
    """Stands in for LocalCloud. `ending` turns a row's item into what it ends as; None leaves that row open."""

    def __init__(self, ending: Callable[[RowItem], RowItem | None] = ends_as_labels) -> None:
        self.world = World()
        self.ending = ending
        self.outputs: Mapping[str, str] = {"UploadsBucketName": BUCKET, "ProspectsTableName": "prospects"}
        self.dropped: tuple[str, ...] = ()
        self.model_requests: int | None = 0
        self.options: LocalCloudOptions | None = None
        self.entered = self.left = False
        self.uploaded: dict[str, str] = {}

    def __call__(self, options: LocalCloudOptions, *, progress: Callable[[str], None]) -> FakeCloud:
        self.options = options
        progress("starting")
        progress("ready")
        return self

    def __enter__(self) -> Self:
        self.entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.left = True

    def client(self, service: str) -> Any:
        assert service == "s3"
        return _S3(self)

    def resource(self, service: str) -> Any:
        assert service == "dynamodb"
        return self

    def Table(self, name: str) -> Any:  # noqa: N802 - boto3's name
        assert name == "prospects"
        return self.world.raw_table

    def dead_letters(self) -> Mapping[str, int]:
        return {"classify-dlq": 0}

    def receive(self, key: str, body: bytes) -> str:
        """What intake, classify and finish make of an object."""
        table, digest = self.world.table, hashlib.sha256(body).hexdigest()
        if digest in self.uploaded:
            version = str(self.world.s3.put_object(Bucket=BUCKET, Key=key, Body=body)["VersionId"])
            table.begin_object(key, version, len(body))
            table.join_object(key, version, self.uploaded[digest])
            return version
        upload_id = f"u-{digest[:24]}"
        try:
            upload = self.world.admit(body, upload_id=upload_id, key=key)
        except Refused as refused:
            version = str(self.world.s3.put_object(Bucket=BUCKET, Key=key, Body=body)["VersionId"])
            table.begin_object(key, version, len(body))
            table.refuse_object(key, version, refused.code, refused.sentence)
            return version
        self.uploaded[digest] = upload_id
        for record in open_csv([body], Limits()).records():
            row = a_row(record.number, upload_id=upload_id, line=record.line, key=f"{upload_id}-{record.number}")
            if record.outcome == "valid" and (ended := self.ending(row)):
                table.put_row(ended)
                if self.model_requests is not None:
                    self.model_requests += 1
        self.world.tick()
        return upload.version_id


class _S3:
    """The S3 client of the fake cloud: putting an object makes it an upload."""

    def __init__(self, cloud: FakeCloud) -> None:
        self._cloud = cloud

    def put_object(self, *, Bucket: str, Key: str, Body: Any) -> dict[str, str]:  # noqa: N803
        assert Bucket == BUCKET
        return {"VersionId": self._cloud.receive(Key, Body.read())}

    def get_object(self, **arguments: Any) -> Any:
        return self._cloud.world.s3.get_object(**arguments)


def a_file(folder: Path, name: str = "leads.csv", body: str | bytes = "") -> Path:
    """A CSV file; without a body one of six records: 3 valid, 1 rejected, 1 duplicate, 1 blank."""
    path = folder / name
    text = body or (
        "name,email,notes\nAda,ada@example.com,x\nBen,nowhere,\nAda,ADA@example.com,\n,,\n"
        'Cleo,cleo@example.com,"two\nlines"\nDora,dora@example.com,\n'
    )
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path
