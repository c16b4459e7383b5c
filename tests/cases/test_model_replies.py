"""Replies of a model in the shapes and with the stops that real ones come in: one of the accepted ends, or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from functions.classify.answers import parse_message, read_answer

DATA = Path(__file__).parent / "data"


def replies(name: str) -> list[Any]:
    return [
        pytest.param(case, id=f"{name}-{number}")
        for number, case in enumerate(json.loads((DATA / f"{name}.replies.json").read_text(encoding="utf-8")), start=1)
    ]


def outcome(reply: dict[str, str]) -> str:
    body = {
        "type": "message",
        "model": "claude-haiku-5-5",
        "content": [{"type": "text", "text": reply["text"]}],
        "stop_reason": reply["stop_reason"],
        "usage": {"input_tokens": 10, "output_tokens": 4},
    }
    reading = read_answer(parse_message(json.dumps(body).encode()))
    return reading.label or f"FAIL {reading.reason}"


@pytest.mark.parametrize("case", replies("A22"))
def test_llm_reply_shape(case: dict[str, Any]) -> None:
    assert outcome(case["reply"]) in case["accept"]
    assert outcome(case["reply"]) not in case["never"]


@pytest.mark.parametrize("case", replies("A23"))
def test_llm_stop_reason(case: dict[str, Any]) -> None:
    assert outcome(case["reply"]) == "FAIL llm_truncated"
    assert outcome(case["reply"]) in case["accept"]
