"""The items of the `refund-ledger` table as typed data. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict

from functions.refunds.request import RefundRequest

ProviderName = Literal["ledger", "stripe"]
Decision = Literal["CONFIRM", "DENY"]
ActionState = Literal["approved", "denied", "closed"]
Result = Literal["refunded", "failed"]


class LedgerItem(BaseModel):
    """Base of the table's items; amounts are integers in minor units, times seconds since the epoch."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    @classmethod
    def from_item(cls, item: Mapping[str, Any]) -> Self:
        return cls.model_validate(dict(item))

    def to_item(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)


class Order(LedgerItem):
    """What was paid, and how much of it approvals have committed. `payment` is the provider's reference of the payment.

    Only `committed_minor` ever changes.
    """

    order_id: str
    currency: str
    paid_minor: int
    committed_minor: int = 0
    provider: ProviderName
    payment: str = ""

    @property
    def left_minor(self) -> int:
        return self.paid_minor - self.committed_minor

    def same_facts(self, other: Order) -> bool:
        return self.model_copy(update={"committed_minor": other.committed_minor}) == other


class Action(LedgerItem):
    """A decided action. All but `state` and what closing adds is written once, by the approval.

    `state` is `closed` when the action is refunded or finally failed, as `result` tells.
    """

    request_id: str
    order_id: str
    amount_minor: int
    currency: str
    provider: ProviderName
    payment: str = ""
    decision: Decision
    decided_by: str
    decided_at: int
    why: str
    state: ActionState
    result: Result | None = None
    closed_at: int | None = None

    def stands_for(self, request: RefundRequest) -> bool:
        """Whether it is the action that the request means, whatever was decided."""
        return (self.request_id, self.order_id, self.amount_minor, self.currency) == (
            request.request_id,
            request.order_id,
            request.amount_minor,
            request.currency,
        )

    @property
    def request(self) -> RefundRequest:
        return RefundRequest(self.request_id, self.order_id, self.amount_minor, self.currency)

    @property
    def payload_hash(self) -> str:
        """Digest of what is paid, to whom and through whom, 64 hex digits: a repeat of the key must match it."""
        paid = [self.order_id, self.amount_minor, self.currency, self.provider, self.payment]
        return hashlib.sha256(json.dumps(paid, separators=(",", ":")).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An action whose item is not one that this application wrote."""

    request_id: str
    standing: Literal["unreadable"] = "unreadable"

    def to_json(self) -> dict[str, Any]:
        return {"request_id": self.request_id, "standing": self.standing}


class RefundRow(LedgerItem):
    """A refund that happened, written once. `refund_id` is the provider's own name of it."""

    request_id: str
    order_id: str
    amount_minor: int
    currency: str
    provider: ProviderName
    refund_id: str
    refunded_at: int

    def same_refund(self, action: Action) -> bool:
        return (self.order_id, self.amount_minor, self.currency, self.provider) == (
            action.order_id,
            action.amount_minor,
            action.currency,
            action.provider,
        )
