"""What was paid for an order, as somebody tells it, checked."""

from __future__ import annotations

import re

from functions.refunds.errors import InvalidRequestError
from functions.refunds.keys import check_order_id
from functions.refunds.model import Order, ProviderName
from functions.refunds.money import check_amount, check_currency

_STRIPE_PAYMENT = re.compile(r"(?:ch|py|pi)_[A-Za-z0-9_]{1,200}")


def paid_order(order_id: str, paid_minor: int, currency: str, *, provider: ProviderName, payment: str) -> Order:
    """Raises InvalidRequestError."""
    if provider == "stripe" and not _STRIPE_PAYMENT.fullmatch(payment):
        raise InvalidRequestError(
            "payment is no name of a Stripe payment; give the charge's (ch_…) or the PaymentIntent's (pi_…)."
        )
    if provider == "ledger" and payment:
        raise InvalidRequestError("An order whose refunds are ledger rows has no payment elsewhere; leave it out.")
    return Order(
        order_id=check_order_id(order_id),
        paid_minor=check_amount(paid_minor),
        currency=check_currency(currency),
        provider=provider,
        payment=payment,
    )
