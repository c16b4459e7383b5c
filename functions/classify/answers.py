"""From the bytes of a 200 to a label or a reason, by stated steps and never by a guess. Pure.

The steps: trim; take off one code fence; take the `label` of a JSON object; case-fold; take off markdown, quotes and
final punctuation until nothing changes; then the rest is exactly one label, or the answer is invalid. A sentence
around a label ("Label: warm", "hot or warm") is not a label.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from functions.classify.task import LABELS

TRUNCATED = "llm_truncated"
REFUSED = "llm_refused"
INVALID = "invalid_label"
UNREADABLE = "unreadable_answer"

# Only these mean that the model said all it wanted; whatever the API adds later is not taken for an answer.
FINISHED = frozenset({"end_turn", "stop_sequence", "tool_use"})
FAILED_STOPS: Mapping[str, str] = {
    "max_tokens": TRUNCATED,
    "model_context_window_exceeded": TRUNCATED,
    "refusal": REFUSED,
}
MOST_TOKENS = 10**9
"""A count above this is no count: the largest context is a thousandth of it."""
COUNTED = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)

_FENCE = re.compile(r"```(?:[\w+-]*\n|json\b)?(.*?)```", re.DOTALL | re.IGNORECASE)
_LEADING_MARK = re.compile(r"(?:[-*>+]|#{1,6})\s+")
_WRAPPERS = (("**", "**"), ("__", "__"), ("*", "*"), ("_", "_"), ("`", "`"), ('"', '"'), ("'", "'"), ("“", "”"))
_FINAL_PUNCTUATION = ".!,;:。"


class _AmbiguousError(ValueError):
    """A JSON object names a member twice."""


@dataclass(frozen=True)
class Message:
    """What a 200 said. `usage` holds token counts by the API's names, or is empty where they were unreadable."""

    text: str
    stop_reason: str
    model: str
    usage: dict[str, int]


MAX_LABEL_CHARACTERS = 1_000
"""A longer text is no label, whatever it is wrapped in; peeling it would take time that grows with its square."""


@dataclass(frozen=True)
class Reading:
    """Exactly one of `label` and `reason` is not empty."""

    label: str = ""
    reason: str = ""


def parse_message(body: bytes) -> Message | None:
    """A Messages API answer, or None where the body is not one."""
    message = parse_json(body)
    if not isinstance(message, dict) or message.get("type") != "message":
        return None
    content, stop_reason = message.get("content"), message.get("stop_reason")
    if not isinstance(content, list) or not isinstance(stop_reason, str):
        return None
    # A thinking block may come first, and more than one text block is no answer: joined lines are no label.
    text = "\n".join(part for block in content if (part := _block_text(block)) is not None)
    return Message(text, stop_reason, str(message.get("model", "")), _usage(message.get("usage")))


def read_answer(message: Message | None) -> Reading:
    """The label, or the reason code of a final and paid failure."""
    if message is None:
        return Reading(reason=UNREADABLE)
    if message.stop_reason in FAILED_STOPS:
        # Even a whole word is refused here: nobody knows what the cut took away.
        return Reading(reason=FAILED_STOPS[message.stop_reason])
    if message.stop_reason not in FINISHED:
        return Reading(reason=UNREADABLE)
    label = label_of(message.text)
    return Reading(label=label) if label else Reading(reason=INVALID)


def label_of(text: str) -> str:
    """The label that `text` is, by the steps of this module, or an empty string."""
    if len(text) > MAX_LABEL_CHARACTERS:
        return ""
    text = text.strip()
    if fenced := _FENCE.fullmatch(text):
        text = fenced[1].strip()
    if text.startswith("{"):
        text = _label_member(text)
    word = _bare(text.casefold())
    return word if word in LABELS else ""


def parse_json(text: str | bytes) -> Any:
    """The value, or None where it is not JSON or says a thing twice."""
    try:
        return json.loads(text, object_pairs_hook=_unambiguous, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None


def _label_member(text: str) -> str:
    answer = parse_json(text)
    labels = [value for name, value in answer.items() if name.casefold() == "label"] if isinstance(answer, dict) else []
    # "label" and "Label" together are two answers, hence none.
    return labels[0] if len(labels) == 1 and isinstance(labels[0], str) else ""


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _AmbiguousError
    return members


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _bare(word: str) -> str:
    while True:
        before = word
        word = _LEADING_MARK.sub("", word.strip(), count=1) if _LEADING_MARK.match(word.strip()) else word.strip()
        word = word.rstrip(_FINAL_PUNCTUATION).rstrip()
        for opening, closing in _WRAPPERS:
            if len(word) > len(opening) + len(closing) and word.startswith(opening) and word.endswith(closing):
                word = word[len(opening) : -len(closing)]
        if word == before:
            return word


def _block_text(block: Any) -> str | None:
    if not isinstance(block, dict):
        return None
    if block.get("type") == "text" and isinstance(block.get("text"), str):
        return str(block["text"])
    if block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
        return json.dumps(block["input"])
    return None


def _usage(usage: Any) -> dict[str, int]:
    if not isinstance(usage, dict):
        return {}
    created = usage.get("cache_creation")
    named: dict[str, Any] = {name: usage.get(name) for name in COUNTED}
    if isinstance(created, dict):
        named["ephemeral_1h_input_tokens"] = created.get("ephemeral_1h_input_tokens")
    counts: dict[str, int] = {name: count for name, count in named.items() if _is_count(count)}
    return counts if {"input_tokens", "output_tokens"} <= counts.keys() else {}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS
