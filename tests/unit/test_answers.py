"""From the bytes of a 200 to a label: by stated steps, and never by a guess."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.classify.answers import label_of, parse_message, read_answer
from functions.classify.task import LABELS


def body(text: str = "hot", stop_reason: Any = "end_turn", **changed: Any) -> bytes:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-5-5",
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop_reason,
        "usage": {"input_tokens": 10, "output_tokens": 4},
    }
    return json.dumps({**message, **changed}).encode()


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("hot", "hot"),
        ("  Warm\r\n", "warm"),
        ("COLD.", "cold"),
        ("hot!!!", "hot"),
        ("**warm**", "warm"),
        ("***warm***", "warm"),
        ("**Hot.**", "hot"),
        ("**Hot**.", "hot"),
        ("_cold_", "cold"),
        ("`cold`", "cold"),
        ('"hot"', "hot"),
        ("“warm”", "warm"),
        ("- hot", "hot"),
        ("## Hot", "hot"),
        ("```\nhot\n```", "hot"),
        ("```hot```", "hot"),
        ('```json\n{"label":"hot"}\n```', "hot"),
        ('```json {"label":"hot"} ```', "hot"),
        ('```JSON\r\n{"label":"hot"}\r\n```', "hot"),
        ('{"label": "Warm"}', "warm"),
        ('{"LABEL": " warm. "}', "warm"),
        ('{"label": "hot", "confidence": 0.87}', "hot"),
    ],
)
def test_a_label_in_other_clothes_is_that_label(text: str, label: str) -> None:
    assert label_of(text) == label


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "lukewarm",
        "hot or warm",
        "hot\nwarm",
        "not hot",
        "Label: warm",
        "hot?",
        "hot (sure)",
        "I think this is hot.",
        "ho t",
        "hotwarm",
        "```",
        "``````",
        "**",
        "{}",
        '{"label": "ho',
        '{"label": null}',
        '{"label": ["hot"]}',
        '{"label": {"label": "hot"}}',
        '{"answer": "hot"}',
        '{"label": "hot", "label": "cold"}',
        '{"label": "hot", "label": "hot"}',
        '{"label": "hot", "Label": "cold"}',
        '{"label": "hot"} {"label": "cold"}',
        '{"label": "hot", "score": NaN}',
        '["hot"]',
        '{"label": "hot"} because',
        "[" * 100_000,
        '{"a":' * 100_000,
        "h\u200bot",
        "ｈｏｔ",
    ],
)
def test_anything_else_is_no_label(text: str) -> None:
    assert label_of(text) == ""


@given(st.text())
def test_no_text_breaks_the_reader_or_makes_a_fourth_label(text: str) -> None:
    assert label_of(text) in {"", *LABELS}


@given(st.binary())
def test_no_bytes_break_the_reader(raw: bytes) -> None:
    reading = read_answer(parse_message(raw))
    assert bool(reading.label) != bool(reading.reason)


@pytest.mark.parametrize(
    ("stop_reason", "reason"),
    [
        ("max_tokens", "llm_truncated"),
        ("model_context_window_exceeded", "llm_truncated"),
        ("refusal", "llm_refused"),
        ("pause_turn", "unreadable_answer"),
        ("something_new", "unreadable_answer"),
        (None, "unreadable_answer"),
    ],
)
def test_a_stop_that_is_not_the_end_is_a_failure_even_with_a_whole_word(stop_reason: Any, reason: str) -> None:
    reading = read_answer(parse_message(body("hot", stop_reason)))
    assert (reading.label, reading.reason) == ("", reason)


def test_a_thinking_block_may_come_first() -> None:
    content = [{"type": "thinking", "thinking": "cold?"}, {"type": "text", "text": "hot"}]
    assert read_answer(parse_message(body(content=content))).label == "hot"


def test_the_input_of_a_forced_tool_is_the_answer() -> None:
    content = [{"type": "tool_use", "id": "t1", "name": "answer", "input": {"label": "warm"}}]
    assert read_answer(parse_message(body(content=content, stop_reason="tool_use"))).label == "warm"


@pytest.mark.parametrize(
    "content",
    [
        [],
        [{"type": "thinking", "thinking": "hot"}],
        [{"type": "text", "text": "hot"}, {"type": "text", "text": "cold"}],
        [{"type": "text", "text": None}],
        ["hot"],
    ],
)
def test_content_without_exactly_one_answer_is_an_invalid_label(content: list[Any]) -> None:
    assert read_answer(parse_message(body(content=content))).reason == "invalid_label"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>hot</html>",
        b'"hot"',
        b"null",
        b'{"type":"message","content":[{"type":"text","te',
        b'{"type":"error","error":{"type":"api_error","message":"x"}}',
        b"\xff\xfe\x00",
        body(content="hot"),
        body(type="completion"),
        b'{"type":"message","stop_reason":"refusal",' + body()[1:],
    ],
)
def test_a_body_that_is_no_message_is_unreadable(raw: bytes) -> None:
    assert parse_message(raw) is None
    assert read_answer(None).reason == "unreadable_answer"


def test_usage_is_taken_with_its_caches() -> None:
    usage = {
        "input_tokens": 7,
        "output_tokens": 3,
        "cache_creation_input_tokens": 5,
        "cache_read_input_tokens": 2,
        "cache_creation": {"ephemeral_1h_input_tokens": 4},
        "service_tier": "standard",
    }
    message = parse_message(body(usage=usage))
    assert message is not None
    assert message.usage == {
        "input_tokens": 7,
        "output_tokens": 3,
        "cache_creation_input_tokens": 5,
        "cache_read_input_tokens": 2,
        "ephemeral_1h_input_tokens": 4,
    }


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        {},
        {"input_tokens": 7},
        {"input_tokens": "7", "output_tokens": 3},
        {"input_tokens": True, "output_tokens": 3},
        {"input_tokens": -1, "output_tokens": 3},
        {"input_tokens": 1.5, "output_tokens": 3},
        {"input_tokens": 10**40, "output_tokens": 3},
    ],
)
def test_usage_that_cannot_be_counted_is_none_at_all(usage: Any) -> None:
    message = parse_message(body(usage=usage))
    assert message is not None
    assert message.usage == {}


def test_an_endless_answer_is_no_label_and_takes_no_time() -> None:
    assert label_of("`" * 10_000_000) == ""
    assert label_of(" " * 900 + "hot") == "hot"
