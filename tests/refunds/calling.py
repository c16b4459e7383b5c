"""The ways to call on a world: what they tell, and callers' requests as they arrive."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from functions.effects.claims import Claims
from functions.refunds.adapters.paying import Paying
from functions.refunds.model import Action
from functions.refunds.providers.protocol import BeforeSend, LookUp, Reply

from .world import World

INVOCATION_S = 60.0


class Told:
    """Keeps what a worker tells."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, dict[str, str]]] = []

    def __call__(self, metric: str, known: Mapping[str, str]) -> None:
        self.lines.append((metric, dict(known)))

    @property
    def metrics(self) -> list[str]:
        return [metric for metric, _ in self.lines]


class Scripted:
    """A provider that replies as it is told."""

    keys_retention_s: float | None = 86_400.0

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)
        self.sent = 0

    def refund(self, action: Action, *, idempotency_key: str, before_send: BeforeSend) -> Reply:
        assert before_send()
        self.sent += 1
        return self._replies.pop(0)

    def look_up(self, action: Action) -> LookUp:
        raise AssertionError("nobody asks within the time in which an answer may still come")


def approved(world: World, *replies: Reply) -> tuple[Action, Scripted]:
    """An approved action whose provider replies so."""
    provider = Scripted(*replies)
    world.providers["stripe"] = provider
    world.order(provider="stripe", payment="ch_1")
    return world.approve(), provider


def paying(world: World, told: Told) -> Paying:
    return Paying(world.refund.run, told)


def asked(action: Action, **changes: Any) -> dict[str, Any]:
    """The request for an action, as its caller sends it."""
    return {**asdict(action.request), **changes}


def held_by_another(world: World, action: Action) -> None:
    """Somebody else claimed the action a moment ago and is still at work."""
    from functions.effects.run import Run
    from functions.refunds.keys import effect_id

    claims = Claims(world.effects, max_paid_attempts=1, retention_days=None, clock=world.clock)
    claims.claim(effect_id(action.request_id), action.payload_hash, Run(deadline=world.now + 25))


def bad_requests(action: Action) -> dict[str, tuple[Any, str]]:
    """What is no refund of this action, and the class of its refusal."""
    unknown = asked(action, request_id="rf_" + "0" * 32)
    return {
        "another amount": (asked(action, amount_minor=action.amount_minor + 1), "KeyReusedError"),
        "another order": (asked(action, order_id="A-2"), "KeyReusedError"),
        "nobody approved it": (unknown, "NotApprovedError"),
        "a negative amount": (asked(action, amount_minor=-5), "InvalidRequestError"),
        "an amount of zero": (asked(action, amount_minor=0), "InvalidRequestError"),
        "a fraction": (asked(action, amount_minor=12.5), "InvalidRequestError"),
        "an amount that is too large": (asked(action, amount_minor=10**13), "InvalidRequestError"),
        "an unknown currency": (asked(action, currency="ZZZ"), "InvalidRequestError"),
        "a malformed request_id": (asked(action, request_id="42"), "InvalidRequestError"),
        "no request_id": ({k: v for k, v in asked(action).items() if k != "request_id"}, "InvalidRequestError"),
        "no object": (["refund"], "InvalidRequestError"),
    }


KINDS = tuple(bad_requests(Action.model_construct(
    request_id="rf_" + "1" * 32, order_id="A-1", amount_minor=1, currency="EUR"
)))  # fmt: skip


def message(body: object, number: int = 1, *, receives: int = 1) -> dict[str, Any]:
    """A record of a batch, as Lambda hands it on."""
    text = body if isinstance(body, str) else json.dumps(body)
    counted = {"ApproximateReceiveCount": f"{receives}"}
    return {"messageId": f"m{number}", "receiptHandle": f"r{number}", "body": text, "attributes": counted}
