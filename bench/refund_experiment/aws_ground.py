"""The experiment on an AWS account: a bucket for the code and one stack a tool, all of which is removed again.

The same template, callers and counts as on the local cloud; only where the clients come from differs.
"""

from __future__ import annotations

import json
import secrets
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError, WaiterError

from bench.refund_experiment.local_ground import NOT_SHIPPED, SHIPPED
from bench.refund_experiment.template import ExperimentStack
from bench.refund_experiment.timers import ACCOUNT
from bench.refund_experiment.variants import Tool
from cli.deployed import DeployedCloud, caller_of, session_for
from cli.errors import CommandError

PREFIX = "refund-experiment"
_CODE = "code.zip"
_LOOKS = {"Delay": 2, "MaxAttempts": 600}
_EARLIEST = (1980, 1, 1, 0, 0, 0)


class Account:
    """The caller's account in one Region. Raises CommandError in one sentence: no Region, no credentials, a refusal."""

    def __init__(self, region: str | None, session: boto3.Session | None = None) -> None:
        self._session: Any = session or session_for(region)
        self._account, self._actor = caller_of(self._session)
        self._name = f"{PREFIX}-{secrets.token_hex(4)}"

    def intention(self, tools: Sequence[Tool]) -> str:
        """What will be made, for whoever is asked whether it may."""
        stacks = ", ".join(self._stack(tool) for tool in tools)
        return (
            f"As {self._actor}, in account {self._account}, Region {self._session.region_name}: "
            f"the bucket {self._name}, and one after the other the stacks {stacks}, each with tables, queues, "
            "functions, roles, a log group and a state machine. "
            "Everything is deleted again, also when the experiment fails; it costs a few cents."
        )

    @contextmanager
    def code(self) -> Iterator[None]:
        """The functions' code in a bucket of its own, for as long as the context is open."""
        s3 = self._session.client("s3")
        with tempfile.TemporaryDirectory() as folder, _sentences():
            archive = _built(Path(folder))
            s3.create_bucket(Bucket=self._name, **self._place())
            try:
                s3.upload_file(str(archive), self._name, _CODE)
                yield
            finally:
                s3.delete_object(Bucket=self._name, Key=_CODE)
                s3.delete_bucket(Bucket=self._name)

    @contextmanager
    def deployed(self, tool: Tool) -> Iterator[DeployedCloud]:
        """One tool's stack, inside `code`."""
        cloudformation, name = self._session.client("cloudformation"), self._stack(tool)
        template = ExperimentStack(tool, ACCOUNT, self._name, _CODE).template()
        with _sentences():
            cloudformation.create_stack(
                StackName=name,
                TemplateBody=json.dumps(template),
                Capabilities=["CAPABILITY_IAM"],
                OnFailure="DO_NOTHING",
            )
            try:
                cloudformation.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig=_LOOKS)
                stack = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
                yield DeployedCloud(
                    self._session, {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}
                )
            finally:
                self._remove(cloudformation, name)

    def _remove(self, cloudformation: Any, name: str) -> None:
        try:
            cloudformation.delete_stack(StackName=name)
            cloudformation.get_waiter("stack_delete_complete").wait(StackName=name, WaiterConfig=_LOOKS)
        except (ClientError, BotoCoreError) as error:
            raise CommandError(f"The stack {name} was not deleted ({error}); delete it in CloudFormation.") from error

    def _stack(self, tool: Tool) -> str:
        return f"{self._name}-{tool.name}"

    def _place(self) -> dict[str, Any]:
        # The one Region whose name S3 refuses here.
        if self._session.region_name == "us-east-1":
            return {}
        return {"CreateBucketConfiguration": {"LocationConstraint": self._session.region_name}}


@contextmanager
def _sentences() -> Iterator[None]:
    try:
        yield
    except (ClientError, WaiterError) as error:
        raise CommandError(f"The experiment ended early: {error}.") from error


def _built(folder: Path) -> Path:
    """What ships, dependencies included, as one archive."""
    # Some seconds to import, for this alone.
    from stacks.bundle import build  # noqa: PLC0415

    content = folder / "content"
    content.mkdir()
    build(content, with_dependencies=True)
    copytree(SHIPPED, content / SHIPPED.name, ignore=NOT_SHIPPED)
    archive = folder / _CODE
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for path in sorted(each for each in content.rglob("*") if each.is_file()):
            info = zipfile.ZipInfo(str(path.relative_to(content)), _EARLIEST)
            # Lambda reads it as another user.
            info.external_attr = 0o644 << 16
            out.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return archive
