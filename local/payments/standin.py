"""What the stand-in answers, the refunds it has made, and the keys it remembers. No sockets here.

It knows every payment whose name tells its amount: `ch_10000eur_7` and `pi_10000eur_7` are payments of 100.00 EUR.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from local.payments.script import Drop, Late, Refuse, Script, Standing, Then, parse_script

_PAYMENT = re.compile(r"(?:ch|pi)_(\d{1,15})([a-z]{3})(?:_\w+)?")
_COUNTS = frozenset({"succeeded", "pending", "requires_action"})
_PAGE = 10


@dataclass(frozen=True)
class Reply:
    """One HTTP answer; with `drop` the connection is reset instead."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    drop: bool = False


@dataclass
class _Kept:
    """What is remembered of an idempotency key; no reply yet while its request is being executed."""

    parameters: Mapping[str, str]
    at: float
    reply: Reply | None = None


Wait = Callable[[float], None]


class StandIn:
    """Thread-safe. `clock` gives seconds; `wait(seconds)` passes them where a script says that it is late."""

    def __init__(self, script: Script, *, clock: Callable[[], float], wait: Wait) -> None:
        self._script = script
        self._clock = clock
        self._wait = wait
        self._lock = threading.Lock()
        self._used: Counter[int] = Counter()
        self._requests = 0
        self._refunds: list[dict[str, Any]] = []
        self._keys: dict[str, _Kept] = {}

    def create(self, parameters: Mapping[str, str], key: str) -> Reply:
        """POST /v1/refunds, with its form decoded; `key` may be empty."""
        with self._lock:
            self._requests += 1
            then = self._match(self._requests, parameters.get("metadata[request_id]", ""))
            # Limits and keys come before execution: such an answer is not kept with the key.
            if isinstance(then, Refuse) and then.status in {401, 403, 429}:
                return _scripted(then)
            known = self._known(key, parameters)
            if known is not None:
                return known
            kept = self._keys[key] = _Kept(parameters, self._clock())
        answer, to_keep = self._execute(parameters, then)
        with self._lock:
            kept.reply = to_keep
            if to_keep is None:
                self._keys.pop(key)
        return answer

    def list(self, parameters: Mapping[str, str]) -> Reply:
        """GET /v1/refunds of one payment, newest first, a page at a time."""
        limit = min(int(parameters.get("limit", _PAGE)), _PAGE)
        payment = parameters.get("charge") or parameters.get("payment_intent")
        with self._lock:
            found = [each for each in reversed(self._refunds) if _payment_of(each) == payment]
        after = parameters.get("starting_after")
        start = next((n + 1 for n, each in enumerate(found) if each["id"] == after), 0)
        page = found[start : start + limit]
        more = len(found) > start + limit
        return _json(200, {"object": "list", "data": page, "has_more": more, "url": "/v1/refunds"})

    def counts(self) -> dict[str, Any]:
        """`requests`: how many refunds were asked for; the rest is of those that moved money."""
        with self._lock:
            made = [each for each in self._refunds if each["status"] in _COUNTS]
        amounts: Counter[str] = Counter()
        for each in made:
            amounts[_payment_of(each)] += each["amount"]
        return {
            "requests": self._requests,
            "refunds": len(made),
            "by_request_id": dict(Counter(each["metadata"].get("request_id", "") for each in made)),
            "amount_by_payment": dict(amounts),
        }

    def _known(self, key: str, parameters: Mapping[str, str]) -> Reply | None:
        kept = self._keys.get(key) if key else None
        if kept is None or self._clock() - kept.at >= self._script.keys_retention_s:
            return None
        if kept.parameters != parameters:
            return _error(
                400, "idempotency_error", None, "Keys can only be used with the parameters of their first use."
            )
        if kept.reply is None:
            return _error(409, "idempotency_error", "idempotency_key_in_use", "This key is in use by another request.")
        return Reply(kept.reply.status, kept.reply.body, {**kept.reply.headers, "idempotent-replayed": "true"})

    def _execute(self, parameters: Mapping[str, str], then: Then | None) -> tuple[Reply, Reply | None]:
        """What is answered, and what the key remembers; None where nothing was executed."""
        if isinstance(then, Refuse):
            return _scripted(then), _scripted(then)
        if isinstance(then, Drop) and then.drop == "before_applying":
            return Reply(drop=True), None
        if isinstance(then, Late) and then.apply == "after":
            self._wait(then.delay_s)
        made = self._apply(parameters, then.standing if isinstance(then, Standing) else "succeeded")
        if isinstance(then, Late) and then.apply == "before":
            self._wait(then.delay_s)
        return (Reply(drop=True) if isinstance(then, Drop) else made), made

    def _apply(self, parameters: Mapping[str, str], status: str) -> Reply:
        name = "payment_intent" if "payment_intent" in parameters else "charge"
        payment = parameters.get(name, "")
        found, amount = _PAYMENT.fullmatch(payment), parameters.get("amount", "")
        if found is None:
            return _error(404, "invalid_request_error", "resource_missing", f"No such {name}.")
        if not amount.isdecimal() or int(amount) < 1:
            return _error(400, "invalid_request_error", "parameter_invalid_integer", "Invalid amount.")
        with self._lock:
            refunded = sum(
                each["amount"] for each in self._refunds if _payment_of(each) == payment and each["status"] in _COUNTS
            )
            if refunded + int(amount) > int(found[1]):
                code = "charge_already_refunded" if refunded >= int(found[1]) else "amount_too_large"
                return _error(400, "invalid_request_error", code, "More than what is left of the payment.")
            refund = {
                "id": f"re_standin_{len(self._refunds) + 1}",
                "object": "refund",
                "amount": int(amount),
                "currency": found[2],
                name: payment,
                "metadata": _metadata(parameters),
                "status": status,
                "created": int(self._clock()),
            }
            self._refunds.append(refund)
        return _json(200, refund)

    def _match(self, number: int, reference: str) -> Then | None:
        for index, rule in enumerate(self._script.rules):
            hit = rule.when.request == number or (
                rule.when.request_id is not None and rule.when.request_id == reference
            )
            if hit and (rule.times is None or self._used[index] < rule.times):
                self._used[index] += 1
                return rule.then
        return None


def payments_standin(script: Any) -> StandIn:
    """One of this machine's time. Raises `ScriptError`."""
    return StandIn(parse_script(script), clock=time.time, wait=time.sleep)


def _metadata(parameters: Mapping[str, str]) -> dict[str, str]:
    prefix = "metadata["
    return {
        name.removeprefix(prefix).removesuffix("]"): value
        for name, value in parameters.items()
        if name.startswith(prefix)
    }


def _payment_of(refund: Mapping[str, Any]) -> str:
    return str(refund.get("charge") or refund.get("payment_intent"))


def _scripted(then: Refuse) -> Reply:
    if then.body is not None:
        return Reply(then.status, then.body.encode(), then.headers)
    reply = _error(then.status, then.type, then.code, then.message)
    return Reply(reply.status, reply.body, then.headers)


def _error(status: int, kind: str, code: str | None, message: str) -> Reply:
    error = {"type": kind, "message": message} | ({"code": code} if code else {})
    return _json(status, {"error": error})


def _json(status: int, body: Any) -> Reply:
    return Reply(status, json.dumps(body).encode())
