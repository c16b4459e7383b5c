"""A model that answers at once, and counts what it may have billed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from functions.classify.billing import Answer, ApiError, NoAnswer

_LABEL = '{"label":"hot"}'
_HOT = json.dumps(
    {
        "type": "message",
        "model": "claude-haiku-5-5",
        "content": [{"type": "text", "text": _LABEL}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 500, "output_tokens": 8},
    }
).encode()
REPLIES: Mapping[str, Answer | NoAnswer] = {
    "answered": Answer(200, _HOT, "req_1"),
    "refused for the row": Answer(400, b"", "req_1", None, ApiError("invalid_request_error", "", "m")),
    "overloaded": Answer(529, b"", "req_1", None, ApiError("overloaded_error", "", "m")),
    "broken": Answer(500, b"", "req_1", None, ApiError("api_error", "", "m")),
    "unreadable": Answer(200, b"<html>", "req_1"),
    "no answer": NoAnswer("connection_lost"),
}
UNBILLED = frozenset({400, 529})


class Model:
    """Says `reply` to whoever asks. `asked` counts requests that left, `billed` those that may have been billed."""

    def __init__(self, reply: Answer | NoAnswer = REPLIES["answered"]) -> None:
        self.reply = reply
        self.asked = 0
        self.billed = 0
        self.billed_by_row: Counter[str] = Counter()
        self.prompt_bytes = 0
        self.answer_bytes = 0

    def ask(self, request: Mapping[str, Any], before_send: Callable[[], bool]) -> Answer | NoAnswer:
        if not before_send():
            return NoAnswer("out_of_time")
        self.asked += 1
        self.prompt_bytes += len(
            (request["system"] + str(request["messages"]) + str(request["output_config"])).encode()
        )
        self.answer_bytes += len(_LABEL.encode())
        if not (isinstance(self.reply, Answer) and self.reply.status in UNBILLED):
            self.billed += 1
            self.billed_by_row[str(request["messages"])] += 1
        return self.reply
