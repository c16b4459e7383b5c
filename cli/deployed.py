"""The stacks of a deployment on AWS, found by their names in one Region."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError, NoCredentialsError

from cli.errors import CommandError
from cli.sentences import code_of
from functions.text import one_line
from local.running import dead_letter_depths

STACKS = ("Storage", "Messaging", "Classification")
"""Behind the deployment's name; together they have every output that most commands use."""
OPTIONAL_STACKS = ("Refund",)
"""Deployed where the settings say so; the commands that need one say that it is missing."""
NEEDED = ("UploadsBucketName", "ProspectsTableName", "IdempotencyTableName", "IntakeFunctionName")
OR_ELSE = "start a local cloud with `prospects local up`, or deploy with `cdk deploy --all`."
NO_REGION_SET = f"No AWS Region is set: name it with --region or AWS_REGION, {OR_ELSE}"
NO_CREDENTIALS_SET = f"There are no usable AWS credentials: set AWS_PROFILE or sign in, {OR_ELSE}"

_CONFIG = Config(retries={"mode": "standard", "total_max_attempts": 5}, connect_timeout=5, read_timeout=60)
# A function may run for 15 minutes; asked again because its answer took long, it would run beside itself.
_INVOKING = Config(retries={"mode": "standard", "total_max_attempts": 1}, connect_timeout=5, read_timeout=910)


class DeployedCloud:
    """A deployment: clients in its Region, with the caller's own credentials."""

    def __init__(self, session: boto3.Session, outputs: Mapping[str, str]) -> None:
        self._session: Any = session
        self._made: dict[tuple[str, str], Any] = {}
        self.outputs = outputs
        self.model_requests: int | None = None

    def client(self, service: str) -> Any:
        return self._get("client", service)

    def resource(self, service: str) -> Any:
        return self._get("resource", service)

    def dead_letters(self) -> dict[str, int]:
        return dead_letter_depths(self.client("sqs"), self.outputs)

    def _get(self, kind: str, service: str) -> Any:
        if (kind, service) not in self._made:
            config = _INVOKING if service == "lambda" else _CONFIG
            self._made[kind, service] = getattr(self._session, kind)(service, config=config)
        return self._made[kind, service]


def session_for(region: str | None) -> boto3.Session:
    """The caller's session. Raises CommandError where no Region is set, or the one named does not exist."""
    session = boto3.Session(region_name=region)
    if not session.region_name:
        raise CommandError(NO_REGION_SET)
    known = [each for part in session.get_available_partitions() for each in _regions(session, part)]
    if session.region_name not in known:
        raise CommandError(
            f"{one_line(session.region_name)} is no AWS Region; name one with --region, such as eu-west-1."
        )
    return session


def caller_of(session: boto3.Session) -> tuple[str, str]:
    """Account and ARN of the caller; the first call of a command, so missing credentials are told here."""
    try:
        identity: Any = session.client("sts", config=_CONFIG).get_caller_identity()
    except NoCredentialsError:
        raise CommandError(NO_CREDENTIALS_SET) from None
    return identity["Account"], identity["Arn"]


def find_stacks(session: boto3.Session, name: str, account: str) -> DeployedCloud:
    """The deployment of that name. Raises CommandError where one of its stacks is not there or not whole."""
    cloudformation = session.client("cloudformation", config=_CONFIG)
    place = f"account {account}, Region {session.region_name}"
    outputs: dict[str, str] = {}
    for part in (*STACKS, *OPTIONAL_STACKS):
        stack = _stack(cloudformation, f"{name}{part}")
        if stack is None and part in OPTIONAL_STACKS:
            continue
        if stack is None:
            raise CommandError(
                f"There is no stack {one_line(name)}{part} in {place}: deploy it with `cdk deploy --all`, name another "
                "with --region or --name, or start a local cloud with `prospects local up`."
            )
        outputs |= {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", ())}
        if stack["StackStatus"] in {"CREATE_IN_PROGRESS", "DELETE_IN_PROGRESS"}:
            raise CommandError(f"The stack {name}{part} in {place} is {stack['StackStatus']}; wait for its end.")
    missing = [output for output in NEEDED if output not in outputs]
    if missing:
        raise CommandError(
            f"The stacks {name}… in {place} have no output {missing[0]}: deploy them with `cdk deploy --all`."
        )
    return DeployedCloud(session, outputs)


def _stack(cloudformation: Any, name: str) -> Any:
    try:
        return cloudformation.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        # CloudFormation has no code of its own for a stack that does not exist.
        if code_of(error) == "ValidationError":
            return None
        raise


def _regions(session: boto3.Session, partition: str) -> list[str]:
    return session.get_available_regions("cloudformation", partition_name=partition)
