"""What a subscriber may ask for here. Whatever the local bus does not do is refused by name, never ignored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from local.bus.model import BusError
from local.bus.targets import unsupported_parameters

_KNOWN = {
    "BatchConfiguration",
    "ClientToken",
    "Description",
    "EventBusArn",
    "FilterConfiguration",
    "InvokeConfiguration",
    "LogConfiguration",
    "Name",
    "OnFailureConfiguration",
    "RetryPolicy",
    "StartingPosition",
    "State",
    "Tags",
    "Transformer",
    "Type",
}
_REQUIRED = ("Name", "EventBusArn", "InvokeConfiguration")
_RANGES = (
    ("BatchConfiguration", "MaxBatchSize", 1, 100),
    ("BatchConfiguration", "MaxBatchWindowInSeconds", 0, 300),
    ("RetryPolicy", "MaxRetryAttempts", 0, 185),
    ("RetryPolicy", "MaxEventAgeInSeconds", 60, 86400),
)
_ONLY = (
    ("Type", ("UNORDERED",), "UNORDERED"),
    ("StartingPosition", ("LATEST",), "LATEST"),
    ("State", ("RUNNING",), "RUNNING"),
)
_LAMBDA_PARAMETERS = {"InvocationType", "InvocationTimeoutSeconds"}


def check_subscriber(request: Mapping[str, Any]) -> None:
    """Raises `BusError` naming the first property that is missing, out of range or not part of the local bus."""
    for name in _REQUIRED:
        if not request.get(name):
            raise _refused(f"{name} is missing.")
    unknown = sorted(set(request) - _KNOWN)
    if unknown:
        raise _refused(f"The local bus does not know the property {unknown[0]} of a subscriber.")
    for name, allowed, default in _ONLY:
        if (request.get(name) or default) not in allowed:
            raise _refused(f"The local bus knows {name} {' and '.join(allowed)} only.")
    for block, name, low, high in _RANGES:
        value = (request.get(block) or {}).get(name)
        if value is not None and not low <= int(value) <= high:
            raise _refused(f"{block}.{name} must be between {low} and {high}.")
    _check_transformer(request)
    _check_target(request)


def _check_transformer(request: Mapping[str, Any]) -> None:
    kind = (request.get("Transformer") or {}).get("Type", "RAW")
    if kind not in ("RAW", "WITH_METADATA"):
        raise _refused("The local bus knows the transformers RAW and WITH_METADATA only.")


def _check_target(request: Mapping[str, Any]) -> None:
    invoke = request["InvokeConfiguration"]
    target, role = str(invoke.get("TargetArn", "")), str(invoke.get("RoleArn", ""))
    service = target.split(":")[2] if target.count(":") >= 5 else ""
    if service not in ("lambda", "sqs"):
        raise _refused("The local bus delivers to Lambda functions and SQS queues only.")
    if ":role/" not in role:
        raise _refused("InvokeConfiguration.RoleArn must name a role.")
    unsupported = unsupported_parameters(request)
    if service == "lambda":
        unsupported |= set(invoke.get("LambdaParameters") or {}) - _LAMBDA_PARAMETERS
    if "{%" in json.dumps(invoke):
        raise _refused("The local bus does not evaluate JSONata expressions.")
    if unsupported:
        raise _refused(f"The local bus does not pass on the target parameter {min(unsupported)}.")


def _refused(message: str) -> BusError:
    return BusError("InvalidInputException", message)
