"""The row's text in a Messages request: JSON inside the user message."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def user_text(request: Mapping[str, Any]) -> str:
    """Every text of the user messages, in order, joined by newlines."""
    return "\n".join(
        text
        for message in request.get("messages", ())
        if message.get("role") == "user"
        for text in _texts(message.get("content"))
    )


def row_fields(request: Mapping[str, Any]) -> dict[str, str]:
    """Column name → text of the first JSON object in the user message; empty when there is none."""
    for found in _objects(user_text(request)):
        return {str(name): str(value) for name, value in found.items()}
    return {}


def mentions(request: Mapping[str, Any], wanted: str) -> bool:
    """Whether the row holds `wanted` as a person would read it: JSON escapes do not hide it."""
    text = user_text(request)
    return wanted in text or any(
        wanted in value
        for found in _objects(text)
        for value in map(str, [*found.values(), " ".join(map(str, found.values()))])
    )


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            if isinstance(block, dict) and isinstance(block.get("text"), str):
                yield block["text"]


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """JSON objects that stand in a text, left to right, none inside another."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    while at != -1:
        try:
            found, end = decoder.raw_decode(text, at)
        except ValueError:
            end = at + 1
        else:
            yield found
        at = text.find("{", end)
