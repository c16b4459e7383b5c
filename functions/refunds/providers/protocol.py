"""What every provider is to the refund tool. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from functions.refunds.model import Action

BeforeSend = Callable[[], bool]
"""Called once, immediately before the request leaves: marks the attempt as sent, or says that it is too late."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What one attempt came to.

    succeeded  the provider has the refund; `refund_id` is its name of it
    failed     it will never have it; `paid` where money may have moved nevertheless
    released   it certainly does not have it, and another attempt may
    unknown    it may have it
    """

    kind: Literal["succeeded", "failed", "released", "unknown"]
    reason: str = ""
    refund_id: str = ""
    standing: str = ""
    paid: bool = False
    retry_after_s: float | None = None
    provider_request_id: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The provider has a refund under our reference; `standing` is its word for where it stands."""

    reply: Reply


@dataclass(frozen=True, slots=True)
class Absent:
    """At the time of the look there was none."""


@dataclass(frozen=True, slots=True)
class CannotTell:
    """The look did not answer, or answered what does not fit the action; `reason` is a code."""

    reason: str


LookUp = Found | Absent | CannotTell


class Provider(Protocol):
    """One way of paying refunds.

    `keys_retention_s`: how long the provider keeps an idempotency key, so that a repeat within it pays nothing again;
    0: it knows no keys; None: for ever.
    """

    @property
    def keys_retention_s(self) -> float | None: ...

    def refund(self, action: Action, *, idempotency_key: str, before_send: BeforeSend) -> Reply:
        """Send the refund once and wait for its end. Raises nothing but defects."""
        ...

    def look_up(self, action: Action) -> LookUp:
        """Ask for it by our reference, the request_id."""
        ...
