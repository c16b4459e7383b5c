"""The model of these worlds: what it says to whom, how often it was asked, and what of that may have been billed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from functions.api_key import ApiKey
from functions.classify.billing import Answer, ApiError, NoAnswer, verdict_of

Reply = Answer | NoAnswer
Roads = Mapping[str, Sequence[Reply]]
"""By a person's name: the answer to each request about them; the last one is repeated."""


def label(text: str, **changed: Any) -> Answer:
    """A 200 of the Messages API."""
    answered: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-5-5",
        "content": [{"type": "text", "text": json.dumps({"label": text})}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1_000, "output_tokens": 10},
    }
    return Answer(200, json.dumps(answered | changed).encode(), request_id="req_1")


def refusal(status: int, kind: str) -> Answer:
    """An error in the provider's own words: nothing was billed."""
    return Answer(status, b"", "req_2", None, ApiError(kind, "", "no"))


OVERLOADED = refusal(529, "overloaded_error")
WRONG_KEY = refusal(401, "authentication_error")
CUT_OFF = label("hot", stop_reason="max_tokens")
NO_ANSWER = NoAnswer("timed_out")


class Model:
    """Asked as `Claude.ask` is, after the secret was read."""

    def __init__(self, roads: Roads) -> None:
        self.roads = dict(roads)
        self.asked: Counter[str] = Counter()
        self.billed: Counter[str] = Counter()

    def ask(self, key: ApiKey, request: Mapping[str, Any], before_send: Callable[[], bool]) -> Reply:
        """`billed` counts what no answer says was free."""
        key.get()
        if not before_send():
            return NoAnswer("out_of_time")
        text = request["messages"][0]["content"]
        name = next(name for name in self.roads if f'"name":"{name}"' in text)
        replies = self.roads[name]
        reply = replies[min(self.asked[name], len(replies) - 1)]
        self.asked[name] += 1
        self.billed[name] += verdict_of(reply).kind in {"read", "unknown"}
        return reply
