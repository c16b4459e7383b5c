"""The `refund-ledger` table: orders, decided actions, and the refunds that happened.

A refund row and a decision are written once and never changed or deleted. What an order's approvals commit never
exceeds what was paid for it: the commitment and the approval are one transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from boto3.dynamodb.conditions import Key
from pydantic import ValidationError

from functions.refunds.errors import (
    ExceedsPaidError,
    InvalidRequestError,
    KeyReusedError,
    LedgerBusyError,
    NotApprovedError,
    OrderDiffersError,
    UnknownOrderError,
)
from functions.refunds.keys import action_row, order_row, refund_row, request_id_of
from functions.refunds.model import Action, Order, RefundRow, Result, Unreadable
from functions.refunds.money import money
from functions.refunds.plumbing import LedgerPlumbing
from functions.transactions import TransactionRefusedError

OPEN_INDEX = "open-actions"
"""The sparse index of approved actions that are not closed: `open` (always the same text), then `decided_at`."""
_OPEN = "open"
_LOOKS = 3


class Ledger(LedgerPlumbing):
    """Every write is conditional; a repeat is harmless and finds its own work."""

    # --- orders ----------------------------------------------------------------------------------------------------

    def get_order(self, order_id: str) -> Order | None:
        item = self._get("refunds.get_order", order_row(order_id))
        return Order.from_item(item) if item else None

    def record_order(self, order: Order) -> Literal["recorded", "already_recorded"]:
        """Write what was paid, once. Raises OrderDiffersError where the order is known with other facts."""
        item = {**order_row(order.order_id), **order.to_item()}
        try:
            self._transact("refunds.record_order", {"Put": {"Item": item, "ConditionExpression": _ABSENT}})
        except TransactionRefusedError:
            known = self.get_order(order.order_id)
            if known is None or not order.same_facts(known):
                raise OrderDiffersError(order.order_id) from None
            return "already_recorded"
        return "recorded"

    # --- decisions -------------------------------------------------------------------------------------------------

    def get_action(self, request_id: str) -> Action | None:
        item = self._get("refunds.get_action", action_row(request_id))
        return Action.from_item(item) if item else None

    def open_actions(self) -> Iterator[Action | Unreadable]:
        """Approved actions that are neither refunded nor finally failed, the oldest first; eventually consistent."""
        found = self._query("refunds.open_actions", IndexName=OPEN_INDEX, KeyConditionExpression=Key("open").eq(_OPEN))
        return map(_action_or_not, found)

    def decide(self, action: Action) -> Action:
        """Store a decision and, if it is an approval, commit its amount of the order, in one transaction.

        Returns the stored action: a repeat finds the first one. Raises KeyReusedError, UnknownOrderError,
        ExceedsPaidError, InvalidRequestError (another currency) and LedgerBusyError; then nothing was written.
        """
        for _ in range(_LOOKS):
            order = self.get_order(action.order_id)
            if order is None:
                raise UnknownOrderError(action.order_id)
            if order.currency != action.currency:
                raise InvalidRequestError(
                    f"The order {order.order_id} was paid in {order.currency}; give the amount in that currency."
                )
            writes = [self._decision(action)]
            if action.decision == "CONFIRM":
                writes.append(self._commitment(order, action.amount_minor))
            try:
                self._transact("refunds.decide", *writes)
            except TransactionRefusedError as refused:
                if 0 in refused.places:
                    return self._decided_before(action)
                order = self.get_order(action.order_id) or order
                if order.left_minor < action.amount_minor:
                    raise ExceedsPaidError(order.order_id, money(order.left_minor, order.currency)) from None
                # A commitment was returned between the refusal and this look, so it may fit now.
            else:
                return action
        raise LedgerBusyError

    def _decision(self, action: Action) -> dict[str, dict[str, Any]]:
        item = {**action_row(action.request_id), **action.to_item()}
        if action.decision == "CONFIRM":
            item["open"] = _OPEN
        return {"Put": {"Item": item, "ConditionExpression": _ABSENT}}

    def _commitment(self, order: Order, amount_minor: int) -> dict[str, dict[str, Any]]:
        # A condition cannot add, but what was paid never changes: committed + amount <= paid, compared in this write.
        # It names nothing of what was paid, so that the role that approves need not be allowed to write that.
        return {
            "Update": {
                "Key": order_row(order.order_id),
                "UpdateExpression": "SET committed_minor = committed_minor + :amount",
                "ConditionExpression": "committed_minor <= :room",
                "ExpressionAttributeValues": {":amount": amount_minor, ":room": order.paid_minor - amount_minor},
            }
        }

    def _decided_before(self, action: Action) -> Action:
        known = self.get_action(action.request_id)
        if known is None or not known.stands_for(action.request):
            raise KeyReusedError(action.request_id)
        return known

    # --- what became of an approved action ---------------------------------------------------------------------------

    def get_refund(self, request_id: str) -> RefundRow | None:
        item = self._get("refunds.get_refund", refund_row(request_id))
        return RefundRow.from_item(item) if item else None

    def create_refund(
        self, action: Action, *, refund_id: str, at: int
    ) -> tuple[RefundRow, Literal["done", "already_done"]]:
        """Write the refund row of an approved action and close the action, in one transaction.

        Raises KeyReusedError where the row is another refund's, NotApprovedError where no approved action allows it.
        """
        row = RefundRow(
            request_id=action.request_id,
            order_id=action.order_id,
            amount_minor=action.amount_minor,
            currency=action.currency,
            provider=action.provider,
            refund_id=refund_id,
            refunded_at=at,
        )
        item = {**refund_row(action.request_id), **row.to_item()}
        put = {"Put": {"Item": item, "ConditionExpression": _ABSENT}}
        try:
            self._transact("refunds.create_refund", put, self._closing(action, "refunded", at))
        except TransactionRefusedError:
            known = self.get_refund(action.request_id)
            if known is None:
                raise NotApprovedError(action.request_id) from None
            if not known.same_refund(action):
                raise KeyReusedError(action.request_id) from None
            return known, "already_done"
        return row, "done"

    def close_failed(self, action: Action, *, at: int, return_commitment: bool) -> None:
        """Close an action that failed for good; what was not paid becomes free for other refunds, once."""
        writes = [self._closing(action, "failed", at)]
        if return_commitment:
            writes.append(self._return(action))
        try:
            self._transact("refunds.close_failed", *writes)
        except TransactionRefusedError as refused:
            # Closed by somebody before, and its commitment returned with it.
            if 0 not in refused.places:
                raise

    def _closing(self, action: Action, result: Result, at: int) -> dict[str, dict[str, Any]]:
        return {
            "Update": {
                "Key": action_row(action.request_id),
                "UpdateExpression": "SET #state = :closed, #result = :result, #closed_at = :at REMOVE #open",
                "ConditionExpression": "#state = :approved",
                "ExpressionAttributeNames": {
                    "#state": "state",
                    "#result": "result",
                    "#closed_at": "closed_at",
                    "#open": "open",
                },
                "ExpressionAttributeValues": {
                    ":closed": "closed",
                    ":approved": "approved",
                    ":result": result,
                    ":at": at,
                },
            }
        }

    def _return(self, action: Action) -> dict[str, dict[str, Any]]:
        return {
            "Update": {
                "Key": order_row(action.order_id),
                "UpdateExpression": "SET committed_minor = committed_minor - :amount",
                "ConditionExpression": "committed_minor >= :amount",
                "ExpressionAttributeValues": {":amount": action.amount_minor},
            }
        }


def _action_or_not(item: dict[str, Any]) -> Action | Unreadable:
    try:
        return Action.from_item(item)
    except ValidationError:
        return Unreadable(request_id_of(str(item["row_id"])))


_ABSENT = "attribute_not_exists(row_id)"
