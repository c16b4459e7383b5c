"""Why a refund was not begun: one clear sentence each. Nothing was written and nothing was paid.

RefundError
  ├─ InvalidRequestError  the request itself: amount, currency, order or request_id
  ├─ NotApprovedError     nobody approved an action under this request_id
  ├─ DeniedError          the action was denied
  ├─ KeyReusedError       the request_id stands for another order, amount or currency
  ├─ UnknownOrderError    approval: there is no such order
  ├─ ExceedsPaidError     approval: the refunds of the order would exceed what was paid
  ├─ OrderDiffersError    an order is known with other facts
  ├─ NotUnknownError      resolve: the refund is not unknown, so nobody has to decide
  ├─ ProviderMissingError this deployment cannot pay through the order's provider
  └─ LedgerBusyError      others moved the order under every try; the same call may be repeated
"""

from __future__ import annotations

from typing import ClassVar


class RefundError(Exception):
    """Base of them all; its text is the sentence. `code` is stable, for programs.

    `retryable`: the same call may succeed later without anybody changing anything.
    """

    code: ClassVar[str] = "refund_error"
    retryable: ClassVar[bool] = False


class InvalidRequestError(RefundError):
    """The request does not describe a refund."""

    code = "invalid_request"


class NotApprovedError(RefundError):
    """Nobody approved this action."""

    code = "not_approved"

    def __init__(self, request_id: str) -> None:
        super().__init__(f"No approved action has the request_id {request_id}; have the refund approved first.")


class DeniedError(RefundError):
    """The action was denied, for good."""

    code = "denied"

    def __init__(self, request_id: str) -> None:
        super().__init__(f"The action {request_id} was denied and is never run; a new approval has a new request_id.")


class KeyReusedError(RefundError):
    """One request_id for two different actions."""

    code = "key_reused"

    def __init__(self, request_id: str) -> None:
        super().__init__(
            f"The request_id {request_id} stands for another order, amount or currency; "
            "every approved action has its own."
        )


class UnknownOrderError(RefundError):
    """Refunds are of known orders only."""

    code = "unknown_order"

    def __init__(self, order_id: str) -> None:
        super().__init__(f"There is no order {order_id} in the ledger; record what was paid for it first.")


class ExceedsPaidError(RefundError):
    """What is approved for an order never exceeds what was paid for it."""

    code = "exceeds_paid"

    def __init__(self, order_id: str, left: str) -> None:
        super().__init__(f"Of the order {order_id} no more than {left} can still be refunded; approve at most that.")


class OrderDiffersError(RefundError):
    """What was paid for an order never changes."""

    code = "order_differs"

    def __init__(self, order_id: str) -> None:
        super().__init__(f"The order {order_id} is recorded with other facts, and what was paid never changes.")


class NotUnknownError(RefundError):
    """Only what is unknown is decided by a person."""

    code = "not_unknown"

    def __init__(self, request_id: str) -> None:
        super().__init__(f"The refund {request_id} is not unknown, so there is nothing to decide; look at its status.")


class ProviderMissingError(RefundError):
    """The order was paid through a provider that this deployment has no key of."""

    code = "provider_missing"

    def __init__(self, provider: str) -> None:
        super().__init__(
            f"This deployment cannot pay through {provider}; name the secret with its key in the settings."
        )


class LedgerBusyError(RefundError):
    """Too many transactions on one order at once."""

    code = "ledger_busy"
    retryable = True

    def __init__(self) -> None:
        super().__init__("Others are changing the same order at this moment; nothing was written, try again.")
