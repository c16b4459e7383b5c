"""Policies that name items: the emulator knows neither `dynamodb:LeadingKeys` nor the attributes that a write names.

Without the first a condition with `ForAllValues` allows every item, so a role that must not touch some of them could.
Each item of a transaction is judged by itself, as DynamoDB does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from local.emulator import Emulator

KEYS = "dynamodb:LeadingKeys"
ATTRIBUTES = "dynamodb:Attributes"
ENCLOSING = "dynamodb:EnclosingOperation"
_MEMBERS = ("ConditionCheck", "Put", "Update", "Delete", "Get")
_EXPRESSIONS = ("UpdateExpression", "ConditionExpression")
_NAME = re.compile(r"(?<![:\w.#])#?[A-Za-z_]\w*(?!\w*\s*\()")
_WORDS = frozenset({"SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "IN", "BETWEEN"})
_EQUALS = re.compile(r"(#?\w+)\s*=\s*(:\w+)")


class _ItemArn(str):
    """A table's ARN in the check of one item of a transaction, and what this item adds to the request's context."""

    __slots__ = ("context",)
    context: Mapping[str, Any]


class ItemConditions:
    """Adds the two keys to what the emulator's policies are evaluated with."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator

    def install(self) -> None:
        actions, iam = self._emulator.actions, self._emulator.iam
        context_of, checks_of, enforce = (
            actions.dynamodb_service_context,
            actions.dynamodb_transaction_checks,
            iam.enforce,
        )

        def context(body: bytes) -> dict[str, Any]:
            return {**context_of(body), **self._context(_request(body))}

        def checks(action: str, body: bytes, region: str, account: str) -> list[tuple[str, str]]:
            found = checks_of(action, body, region, account)
            items = [each for item in _request(body).get("TransactItems", ()) for each in _members(item)]
            return [(name, self._for_item(arn, item)) for (name, arn), item in zip(found, items, strict=True)]

        def enforced(*args: Any, **named: Any) -> Any:
            arn = named.get("resource_arn")
            if isinstance(arn, _ItemArn):
                named["service_context"] = {**(named.get("service_context") or {}), **arn.context}
            return enforce(*args, **named)

        actions.dynamodb_service_context, actions.dynamodb_transaction_checks = context, checks
        iam.enforce = enforced

    def _for_item(self, arn: str, item: Mapping[str, Any]) -> _ItemArn:
        checked = _ItemArn(arn)
        checked.context = self._context(item)
        return checked

    def _context(self, item: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if keys := list(self._leading_keys(item)):
            found[KEYS] = keys
        if attributes := _written(item):
            found[ATTRIBUTES] = attributes
        return found

    def _leading_keys(self, request: Mapping[str, Any]) -> Iterator[str]:
        for table, part in (request.get("RequestItems") or {}).items():
            if isinstance(part, dict):
                yield from (_text(key.get(self._hash_key(table, ""))) for key in part.get("Keys", ()))
        if "TableName" not in request:
            return
        name = self._hash_key(str(request["TableName"]), str(request.get("IndexName", "")))
        for item in (request.get("Key"), request.get("Item")):
            if item:
                yield _text(item.get(name))
        values, names = request.get("ExpressionAttributeValues", {}), request.get("ExpressionAttributeNames", {})
        for left, right in _EQUALS.findall(str(request.get("KeyConditionExpression", ""))):
            if names.get(left, left) == name:
                yield _text(values.get(right))

    def _hash_key(self, table: str, index: str) -> str:
        found = self._emulator.dynamodb._tables.get(table.rpartition("/")[2]) or {}
        indexes = {each["IndexName"]: each for each in found.get("GlobalSecondaryIndexes") or ()}
        schema = (indexes.get(index) or found).get("KeySchema", ())
        return next((each["AttributeName"] for each in schema if each["KeyType"] == "HASH"), "")


def _request(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _members(item: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """In the order in which the emulator checks them."""
    return [item[name] for name in _MEMBERS if isinstance(item.get(name), dict) and item[name].get("TableName")]


def _written(item: Mapping[str, Any]) -> list[str]:
    """The top-level attributes that a write names: those of its item, its key and its expressions."""
    expressions = " ".join(str(item.get(each, "")) for each in _EXPRESSIONS)
    if not expressions.strip() and "Item" not in item:
        return []
    names = item.get("ExpressionAttributeNames", {})
    named = {names.get(each, each) for each in _NAME.findall(expressions) if each.upper() not in _WORDS}
    return sorted({*named, *item.get("Item", {}), *item.get("Key", {})})


def _text(value: Any) -> str:
    return str(next(iter(value.values()))) if isinstance(value, dict) and value else ""
