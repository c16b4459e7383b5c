"""What the stand-in answers to a request, and what it counts. No sockets here."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from local.claude.rows import mentions, row_fields, user_text
from local.claude.scorer import LABELS, label
from local.claude.script import Rule, Then

# Statuses that cost nothing when they carry Anthropic's JSON error body (design: what an answer means for money).
_UNBILLED = {400, 401, 402, 403, 404, 413, 422, 429, 503, 529}
_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}
_BYTES_PER_TOKEN = 4


@dataclass(frozen=True)
class Reply:
    """One HTTP answer, or none: `drop` closes the connection instead. `billed` says what it means for money."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: str | None = None
    delay_s: float = 0.0
    billed: bool = True


class StandIn:
    """Answers by the script, else by the scorer. Thread-safe; requests are numbered in the order they arrive."""

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        self._rules = rules
        self._used: Counter[int] = Counter()
        self._arrived = 0
        self._lock = threading.Lock()
        self.model_requests = 0
        self.billed_requests = 0
        self._unbilled = 0
        self._in_doubt_by_row: Counter[int] = Counter()

    def arrived(self) -> int:
        """Number the request whose head has just arrived."""
        with self._lock:
            self._arrived += 1
            return self._arrived

    def drops_unread(self, number: int) -> bool:
        """Whether a rule closes this request before its body is read; a rule on the row has to read it to know."""
        with self._lock:
            for index, rule in enumerate(self._rules):
                if not self._left(index) or rule.request not in (None, number):
                    continue
                if rule.contains is not None or rule.then.drop != "before_reading":
                    return False
                self._used[index] += 1
                return True
        return False

    def answer(self, number: int, headers: Mapping[str, str], body: bytes) -> Reply:
        """The reply to a request that was read to its end."""
        reply = self._reply(number, headers, body)
        # Dropped before reading: nothing was read, whatever the rule had to look at to know.
        if reply.drop != "before_reading":
            with self._lock:
                self.model_requests += 1
                self.billed_requests += reply.billed
        with self._lock:
            self._unbilled += not reply.billed
            # Who asks cannot tell a drop before reading from one after it.
            self._in_doubt_by_row[_row_of(body)] += reply.billed
        return reply

    def counts(self) -> dict[str, int]:
        with self._lock:
            return {"model_requests": self.model_requests, "billed_requests": self.billed_requests}

    def used(self) -> list[int]:
        """How often each rule answered."""
        with self._lock:
            return [self._used[index] for index in range(len(self._rules))]

    def in_doubt(self) -> dict[str, int]:
        """What a client has to take for billed. `may_have_been_billed`: all that arrived but those answered with an
        error that costs nothing; `worst_row`: the most of these for one row, of those that were read."""
        with self._lock:
            worst = max(self._in_doubt_by_row.values(), default=0)
            return {"may_have_been_billed": self._arrived - self._unbilled, "worst_row": worst}

    def _reply(self, number: int, headers: Mapping[str, str], body: bytes) -> Reply:
        request = _decoded(body)
        if request is None:
            return _error(400, "invalid_request_error", "The body is not JSON.")
        fault = _fault_of(headers, request)
        if fault is not None:
            return fault
        then = self._match(number, request) or Then()
        if then.drop == "in_the_answer":
            return dataclasses.replace(_message(request, then), drop=then.drop)
        if then.drop:
            return Reply(drop=then.drop)
        if then.status is not None:
            return _scripted_error(then)
        return _message(request, then)

    def _match(self, number: int, request: Mapping[str, Any]) -> Then | None:
        with self._lock:
            for index, rule in enumerate(self._rules):
                hit = rule.request == number if rule.contains is None else mentions(request, rule.contains)
                if hit and self._left(index):
                    self._used[index] += 1
                    return rule.then
        return None

    def _left(self, index: int) -> bool:
        times = self._rules[index].times
        return times is None or self._used[index] < times


def _decoded(body: bytes) -> Any:
    """The request, or None where it is not JSON."""
    try:
        return json.loads(body)
    except ValueError:
        return None


def _row_of(body: bytes) -> int:
    request = _decoded(body)
    return hash(user_text(request)) if isinstance(request, dict) else 0


def _fault_of(headers: Mapping[str, str], request: Any) -> Reply | None:
    """What the API itself would refuse before any model runs."""
    if not headers.get("x-api-key") and not headers.get("authorization"):
        return _error(401, "authentication_error", "x-api-key header is required")
    fields = request if isinstance(request, dict) else {}
    faults = {
        "anthropic-version: header is required": not headers.get("anthropic-version"),
        "model: Field required": not isinstance(fields.get("model"), str),
        "max_tokens: Field required": not isinstance(fields.get("max_tokens"), int) or fields["max_tokens"] < 1,
        "messages: Field required": not isinstance(fields.get("messages"), list) or not fields["messages"],
        "stream: the local stand-in does not stream": bool(fields.get("stream")),
    }
    fault = next((message for message, found in faults.items() if found), None)
    return None if fault is None else _error(400, "invalid_request_error", fault)


def _message(request: Mapping[str, Any], then: Then) -> Reply:
    text = then.text
    if text is None:
        allowed = _allowed_labels(request)
        if allowed is not None and not set(LABELS) <= set(allowed):
            return _error(400, "invalid_request_error", f"The local stand-in answers {', '.join(LABELS)} only.")
        text = json.dumps({"label": label(row_fields(request))})
    usage = {
        "input_tokens": _tokens(str(request.get("system", "")) + user_text(request)),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": _tokens(text),
        **then.usage,
    }
    message = {
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": then.stop_reason or "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }
    return Reply(200, json.dumps(message).encode(), then.headers, delay_s=then.delay_s)


def _allowed_labels(request: Mapping[str, Any]) -> Sequence[str] | None:
    schema = ((request.get("output_config") or {}).get("format") or {}).get("schema") or {}
    allowed: Sequence[str] | None = ((schema.get("properties") or {}).get("label") or {}).get("enum")
    return allowed


def _scripted_error(then: Then) -> Reply:
    status = then.status or 500
    kind = then.error_type or _ERROR_TYPES.get(status, "api_error")
    message = f"The script answers {status}." if then.message is None else then.message
    reply = _error(status, kind, message, then.code)
    body = reply.body if then.body is None else then.body.encode()
    billed = reply.billed if then.body is None else True
    return Reply(status, body, then.headers, delay_s=then.delay_s, billed=billed)


def _error(status: int, kind: str, message: str, code: str | None = None) -> Reply:
    details = {} if code is None else {"details": {"error_code": code}}
    body = json.dumps({"type": "error", "error": {"type": kind, "message": message, **details}}).encode()
    return Reply(status, body, billed=status not in _UNBILLED)


def _tokens(text: str) -> int:
    return max(1, -(-len(text.encode()) // _BYTES_PER_TOKEN))
