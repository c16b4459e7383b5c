"""A server with small hand-written stacks: what the tests of the emulator's repairs run on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from local.clients import Clients
from local.group import Group
from local.running import ask
from local.settings import READY_FILE, Ready, ServerSettings

DEADLINE_S = 30.0
_T = TypeVar("_T")

TRUST = {
    "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "events.amazonaws.com"}}]
}


def wait_for(look: Callable[[], _T | None], *, deadline_s: float = DEADLINE_S) -> _T:
    """What `look` gives once it gives something."""
    deadline = time.monotonic() + deadline_s
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


class Toy:
    """Deploys templates and reads queues."""

    def __init__(self, group: Group, clients: Clients) -> None:
        self.group = group
        self.clients = clients

    def deploy(self, name: str, resources: Mapping[str, Any], outputs: Mapping[str, Any]) -> dict[str, str]:
        """Outputs of a stack of these resources."""
        cloudformation = self.clients.client("cloudformation")
        template = {"Resources": resources, "Outputs": {key: {"Value": value} for key, value in outputs.items()}}
        cloudformation.create_stack(
            StackName=name, TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_NAMED_IAM"]
        )

        def finished() -> Any:
            stack = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
            return None if stack["StackStatus"].endswith("IN_PROGRESS") else stack

        stack = wait_for(finished)
        assert stack["StackStatus"] == "CREATE_COMPLETE", cloudformation.describe_stack_events(StackName=name)
        return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", ())}

    def receive(self, url: str) -> Any:
        """The next message of a queue, deleted."""
        sqs = self.clients.client("sqs")

        def one() -> Any:
            found = sqs.receive_message(
                QueueUrl=url, MessageAttributeNames=["All"], MessageSystemAttributeNames=["All"], WaitTimeSeconds=1
            )
            return found.get("Messages")

        message = wait_for(one)[0]
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return message

    def metric(self, name: str) -> int:
        """The sum of a metric over every dimension."""
        rows = ask(self.clients.endpoint, "metrics")
        return sum(row["sum"] for row in rows if row["name"] == name)


@contextmanager
def served(**changes: Any) -> Iterator[Toy]:
    group = Group(ServerSettings(token="toy", **changes))
    try:
        ready = group.folder / READY_FILE
        wait_for(lambda: ready.exists() or not group.alive())
        assert group.alive(), group.log.read_text()
        yield Toy(group, Clients(Ready.model_validate_json(ready.read_text()).endpoint))
    finally:
        group.end()


def role(*statements: Mapping[str, Any]) -> dict[str, Any]:
    policies = [{"PolicyName": "p", "PolicyDocument": {"Statement": list(statements)}}]
    return {
        "Type": "AWS::IAM::Role",
        "Properties": {"AssumeRolePolicyDocument": TRUST, "Policies": policies if statements else []},
    }


def working_role() -> dict[str, Any]:
    """What the handlers of these tests need: to send and to delay messages."""
    return role(allow("sqs:SendMessage"), allow("sqs:ChangeMessageVisibility"))


def allow(action: str, resource: Any = "*") -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resource}


def function(code: str, *, role_name: str = "Role", **properties: Any) -> dict[str, Any]:
    return {
        "Type": "AWS::Lambda::Function",
        "Properties": {
            "Runtime": "python3.13",
            "Handler": "index.handler",
            "Code": {"ZipFile": code},
            "Role": {"Fn::GetAtt": [role_name, "Arn"]},
            "Timeout": 10,
            **properties,
        },
    }


def queue(**properties: Any) -> dict[str, Any]:
    return {"Type": "AWS::SQS::Queue", "Properties": properties}


def arn(name: str) -> dict[str, Any]:
    return {"Fn::GetAtt": [name, "Arn"]}


def ref(name: str) -> dict[str, Any]:
    return {"Ref": name}


REPORTING = """
import json, os, boto3
sqs = boto3.client("sqs")
def report(body):
    sqs.send_message(QueueUrl=os.environ["REPORTS"], MessageBody=json.dumps(body))
"""
