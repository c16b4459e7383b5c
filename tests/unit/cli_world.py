"""A cloud for the tests of the command: S3 and the table are moto's, and an upload ends at once or as a test says."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import botocore.handlers
import pytest
from botocore.awsrequest import AWSResponse
from moto import mock_aws
from typer.testing import CliRunner, Result

from cli.deployed import STACKS
from cli.main import app
from functions.intake.records import open_csv
from functions.intake.refusals import Refused
from functions.settings import Limits
from functions.uploads.model import RowItem
from local.options import LocalCloudOptions
from tests.unit.finish_world import BUCKET, REGION, World, a_row

LABELS = ("hot", "warm", "cold")
MICROUSD = 10


def ends_as_labels(row: RowItem) -> RowItem | None:
    """Every valid row is classified; the labels take turns."""
    return row.model_copy(update={"label": LABELS[row.row_number % 3], "cost_microusd": MICROUSD})


class FakeCloud:
    """Stands in for LocalCloud. `ending` turns a row's item into what it ends as; None leaves that row open."""

    def __init__(
        self, ending: Callable[[RowItem], RowItem | None] = ends_as_labels, world: World | None = None
    ) -> None:
        self.world = world or World()
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


class Stacks:
    """What moto does not have here (CloudFormation, Lambda, the Custom Event Bus); installed by `on_aws`.

    `answers` holds what an operation answers, or the code of its refusal, by the operation's name.
    """

    def __init__(self) -> None:
        self.outputs: dict[tuple[str, str], Mapping[str, str]] = {}
        self.answers: dict[str, Any] = {}

    def answer(self, model: Any, params: Any, context: Any, **_: Any) -> Any:
        """Called by botocore before each call; what it returns is taken for the service's answer, None goes to moto."""
        if model.name == "DescribeStacks" and "DescribeStacks" not in self.answers:
            return self._described(context["client_region"], params["body"]["StackName"])
        if model.name not in self.answers:
            return None
        answer = self.answers[model.name]
        return refusal(answer) if isinstance(answer, str) else (AWSResponse("", 200, {}, None), answer)

    def _described(self, region: str, name: str) -> Any:
        if (region, name) not in self.outputs:
            return refusal("ValidationError")
        outputs = [{"OutputKey": key, "OutputValue": value} for key, value in self.outputs[region, name].items()]
        return AWSResponse("", 200, {}, None), {"Stacks": [{"StackStatus": "CREATE_COMPLETE", "Outputs": outputs}]}


def refusal(code: str) -> Any:
    return AWSResponse("", 400, {}, None), {"Error": {"Code": code, "Message": "a text of the service"}}


class Shell:
    """Runs the command as a user of AWS whose default Region is that of the world."""

    def __init__(self, world: World, stacks: Stacks) -> None:
        self.world = world
        self.stacks = stacks

    def deploy(self, name: str = "ProspectUploader", **more: str) -> None:
        """Stacks of that name, with the outputs that the commands use; `more` adds outputs."""
        outputs = {
            "UploadsBucketName": BUCKET,
            "ProspectsTableName": "prospects",
            "IdempotencyTableName": "idempotency",
            "IntakeFunctionName": "intake",
            "ClassifyFunctionName": "classify",
            **more,
        }
        for part in STACKS:
            # Each has all of them: which one has which is nothing that the commands know.
            self.stacks.outputs[REGION, f"{name}{part}"] = outputs

    def settings(self, **variables: object) -> None:
        """The environment of every function."""
        environment = {name.upper(): str(value) for name, value in variables.items()}
        self.stacks.answers["GetFunctionConfiguration"] = {"Environment": {"Variables": environment}}

    def run(self, *arguments: object, input: str | None = None) -> Result:  # noqa: A002 - the runner's word
        return CliRunner().invoke(app, [str(argument) for argument in arguments], input=input)

    def refused(self, *arguments: object, code: int = 2) -> str:
        """The one sentence of a command that did not do it."""
        result = self.run(*arguments)
        assert (result.exit_code, result.stdout) == (code, ""), result.output
        [sentence] = result.stderr.splitlines()
        return sentence

    def json(self, *arguments: object) -> Any:
        result = self.run(*arguments, "--json")
        assert result.exit_code in {0, 1}, result.output
        [line] = result.stdout.splitlines()
        return json.loads(line)


@contextmanager
def on_aws(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[Shell]:
    """A shell in an empty folder, with credentials, before an account without stacks."""
    monkeypatch.chdir(folder)
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    settings = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": REGION}
    for name, value in (settings | {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}).items():
        monkeypatch.setenv(name, value)
    stacks = Stacks()
    monkeypatch.setattr(
        botocore.handlers, "BUILTIN_HANDLERS", [*botocore.handlers.BUILTIN_HANDLERS, ("before-call", stacks.answer)]
    )
    with mock_aws():
        yield Shell(World(), stacks)
