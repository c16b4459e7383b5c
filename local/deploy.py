"""Deploys a cloud assembly into the local cloud: the synthesized templates, through CloudFormation."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from local.assets import Stack, stacks_in_order, upload_assets
from local.clients import Clients
from local.errors import LocalCloudError, sentence
from local.properties import dropped_properties, repair_properties

_BOOTSTRAP_VERSION = ("/cdk-bootstrap/hnb659fds/version", "30")
_CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
_TIMEOUT_S = 60.0
_POLL_S = 0.05


@dataclass(frozen=True)
class Deployment:
    """`outputs` of all stacks by name; `dropped`: a sentence for every property the emulator did not keep."""

    outputs: Mapping[str, str]
    dropped: tuple[str, ...]


def deploy(clients: Clients, assembly: Path) -> Deployment:
    """Deploy every stack in order. Raises `LocalCloudError` naming the resource that failed, and why."""
    try:
        name, value = _BOOTSTRAP_VERSION
        clients.client("ssm").put_parameter(Name=name, Value=value, Type="String", Overwrite=True)
        upload_assets(clients, assembly)
        outputs: dict[str, str] = {}
        dropped: list[str] = []
        for stack in stacks_in_order(assembly):
            outputs.update(_deploy_stack(clients, stack))
            resources = _resources(clients, stack)
            repair_properties(clients, stack.template, resources)
            dropped += dropped_properties(clients, stack.template, resources)
    except (ClientError, BotoCoreError) as error:
        raise LocalCloudError(sentence(f"The stacks were not deployed: {error}")) from error
    return Deployment(outputs, tuple(dropped))


def _deploy_stack(clients: Clients, stack: Stack) -> dict[str, str]:
    cloudformation = clients.client("cloudformation")
    cloudformation.create_stack(
        StackName=stack.name,
        TemplateURL=f"{clients.endpoint}/{stack.bucket}/{stack.key}",
        Capabilities=_CAPABILITIES,
        OnFailure="DO_NOTHING",
    )
    deadline = time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline:
        found = cloudformation.describe_stacks(StackName=stack.name)["Stacks"][0]
        status = found["StackStatus"]
        if status == "CREATE_COMPLETE":
            return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", ())}
        if not status.endswith("_IN_PROGRESS"):
            raise LocalCloudError(sentence(_failure(cloudformation, stack.name, found)))
        time.sleep(_POLL_S)
    raise LocalCloudError(f"Stack {stack.name} was not deployed within {_TIMEOUT_S:g} s.")


def _failure(cloudformation: Any, name: str, found: Mapping[str, Any]) -> str:
    """The first resource that failed: those after it only say that they were cancelled."""
    events = cloudformation.describe_stack_events(StackName=name)["StackEvents"]
    failed = [event for event in reversed(events) if event["ResourceStatus"] == "CREATE_FAILED"]
    for event in failed:
        if event["ResourceType"] != "AWS::CloudFormation::Stack":
            resource = f"{event['LogicalResourceId']} ({event['ResourceType']})"
            return f"Stack {name} was not deployed: {resource} failed: {event.get('ResourceStatusReason', '')}"
    return f"Stack {name} was not deployed: {found.get('StackStatusReason', found['StackStatus'])}"


def _resources(clients: Clients, stack: Stack) -> dict[str, str]:
    """Physical id by logical id."""
    pages = clients.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack.name)
    return {
        found["LogicalResourceId"]: found["PhysicalResourceId"]
        for page in pages
        for found in page["StackResourceSummaries"]
    }
