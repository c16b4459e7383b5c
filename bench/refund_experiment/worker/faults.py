"""What goes wrong in a call, and what became of it: one item a request_id in the experiment's own table.

A plan says at which point which call fails how often; the same item counts the calls that began and how they ended. A
call that was killed by its timeout has no end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

LONGER_THAN_ANY_TIMEOUT_S = 900

_table = boto3.resource("dynamodb", config=Config(retries={"mode": "standard"})).Table(os.environ["FAULTS_TABLE"])


class InjectedError(Exception):
    """The plan says so: an error of the tool, as a bug would raise it."""


class _Current:
    """The call that this process is in; Lambda gives a process one call at a time."""

    plan: Mapping[str, Any] | None = None


@contextmanager
def following(request_id: str) -> Iterator[None]:
    """Stands around the whole of one call, whatever answers it."""
    _Current.plan = _count(request_id, "arrivals", "SET last_at = :now", {":now": int(time.time())})
    try:
        yield
    except BaseException as error:
        _count(request_id, "failed", "", {":error": {type(error).__name__}}, also=", errors :error")
        raise
    else:
        _count(request_id, "returned", "", {})
    finally:
        _Current.plan = None


def arrived(point: str) -> None:
    """Called at every point of the call; where the plan names it, what it says happens here."""
    plan = _Current.plan
    if plan is None or plan.get("point") != point or not _taken(plan["request_id"]):
        return
    _DOES[plan["does"]](float(plan["seconds"]))


def _taken(request_id: str) -> bool:
    """One of the times that are left."""
    try:
        _table.update_item(
            Key={"request_id": request_id},
            UpdateExpression="ADD times_left :less, hits :one",
            ConditionExpression="times_left > :none",
            ExpressionAttributeValues={":less": -1, ":one": 1, ":none": 0},
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        return False
    return True


def _count(request_id: str, counter: str, sets: str, values: Mapping[str, Any], also: str = "") -> Mapping[str, Any]:
    answer = _table.update_item(
        Key={"request_id": request_id},
        UpdateExpression=f"{sets} ADD {counter} :one{also}".strip(),
        ExpressionAttributeValues={":one": 1, **values},
        ReturnValues="ALL_NEW",
    )
    return answer["Attributes"]


def _raise(_seconds: float) -> None:
    raise InjectedError("the experiment's plan says so")


def _sleep(_seconds: float) -> None:
    time.sleep(LONGER_THAN_ANY_TIMEOUT_S)


_DOES: Mapping[str, Callable[[float], None]] = {"raise": _raise, "sleep": _sleep, "pause": time.sleep}
