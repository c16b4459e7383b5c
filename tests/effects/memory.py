"""The `idempotency` table as a pure function: what a request makes of one item, and what it is answered.

It knows exactly the forms of expression that `EffectTable` sends and refuses any other, so that it can stand in for
DynamoDB where every interleaving is explored. `test_memory.py` holds it equal to moto.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace
from typing import Any

from boto3.dynamodb.types import TypeSerializer
from botocore.exceptions import ClientError

Item = str | None
"""A stored item as canonical JSON, so that states can be compared and kept; None: no item."""

_SERIALIZER = TypeSerializer()
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda left, right: bool(left == right),
    "<": lambda left, right: bool(left < right),
    ">": lambda left, right: bool(left > right),
}


@dataclass(frozen=True)
class Answer:
    """What the table answers: the item that was read, `refused` with the item in the way, or nothing to tell."""

    item: Item = None
    refused: bool = False


def frozen(item: Mapping[str, Any]) -> str:
    return json.dumps(item, sort_keys=True, default=int)


@cache
def thawed(item: str) -> dict[str, Any]:
    """For reading alone: the same object comes back each time."""
    thawed_item: dict[str, Any] = json.loads(item)
    return thawed_item


def execute(item: Item, operation: str, request: Mapping[str, Any]) -> tuple[Item, Answer]:
    """The item after the request, and the answer. Raises ValueError for a form that only DynamoDB knows."""
    if operation == "get_item":
        _check_key(request["Key"])
        if request.get("ConsistentRead") is not True:
            raise ValueError("the table in memory does not know a read that may be behind")
        return item, Answer(item)
    if operation not in {"put_item", "update_item"}:
        raise ValueError(f"the table in memory does not know {operation}")
    _check_key(request["Item"] if operation == "put_item" else request["Key"])
    if broken_parts(item, request):
        return item, Answer(item, refused=True)
    if operation == "put_item":
        return frozen(request["Item"]), Answer()
    return _updated(item, request), Answer()


def _check_key(key: Mapping[str, Any]) -> None:
    if not isinstance(key["id"], str) or not key["id"]:
        raise ValueError("the table in memory does not know a key that is no text")


def broken_parts(item: Item, request: Mapping[str, Any]) -> list[str]:
    """The parts of the request's condition that do not hold for this item."""
    stored = None if item is None else thawed(item)
    return [part for part in request["ConditionExpression"].split(" AND ") if not _holds(part, stored, request)]


def _holds(part: str, stored: Mapping[str, Any] | None, request: Mapping[str, Any]) -> bool:
    if part in {"attribute_exists(id)", "attribute_not_exists(id)"}:
        return (stored is not None) is (part == "attribute_exists(id)")
    size = re.fullmatch(r"size\((#\w+)\) = (:\w+)", part)
    compared = re.fullmatch(r"(#\w+(?:\.#\w+)*) ([=<>]) (:\w+)", part)
    if not size and not compared:
        raise ValueError(f"the table in memory does not know the condition {part}")
    value = _at(stored or {}, (size or compared)[1], request["ExpressionAttributeNames"])  # type: ignore[index]
    if value is None:
        return False
    values = request["ExpressionAttributeValues"]
    if size:
        return bool(len(value) == values[size[2]])
    assert compared is not None
    return _COMPARISONS[compared[2]](value, values[compared[3]])


def _at(stored: Mapping[str, Any], path: str, names: Mapping[str, str]) -> Any:
    value: Any = stored
    for placeholder in path.split("."):
        value = value.get(names[placeholder]) if isinstance(value, dict) else None
    return value


def _updated(item: Item, request: Mapping[str, Any]) -> str:
    names, values = request["ExpressionAttributeNames"], request["ExpressionAttributeValues"]
    changed = dict(thawed(item)) if item else dict(request["Key"])
    expression = request["UpdateExpression"]
    added = re.fullmatch(r"ADD (#\w+) (:\w+)", expression)
    moved = re.fullmatch(r"SET (#\w+ = :\w+(?:, #\w+ = :\w+)*)(?: REMOVE (#\w+(?:, #\w+)*))?", expression)
    if added:
        changed[names[added[1]]] = changed.get(names[added[1]], 0) + values[added[2]]
    elif moved:
        for assignment in moved[1].split(", "):
            name, value = assignment.split(" = ")
            changed[names[name]] = values[value]
        for name in moved[2].split(", ") if moved[2] else ():
            changed.pop(names[name], None)
    else:
        raise ValueError(f"the table in memory does not know the update {expression}")
    return frozen(changed)


@cache
def wire(item: str) -> dict[str, Any]:
    """DynamoDB's wire form, in which the item that refused a write comes back."""
    return {name: _SERIALIZER.serialize(value) for name, value in thawed(item).items()}


def response(operation: str, answer: Answer) -> dict[str, Any]:
    """The answer as boto3 gives it: a value, or the error of a refused condition."""
    if answer.refused:
        error: Any = {"Error": {"Code": "ConditionalCheckFailedException", "Message": "The conditional request failed"}}
        raise ClientError(error | ({"Item": wire(answer.item)} if answer.item else {}), operation)
    return {"Item": thawed(answer.item)} if answer.item else {}


def table(client: Any) -> Any:
    """A boto3 table as far as the store looks at one: its client and its name."""
    return SimpleNamespace(meta=SimpleNamespace(client=client), name="idempotency")
