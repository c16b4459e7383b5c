"""Stripe's amounts, which are not ISO 4217's everywhere. Pure; from docs.stripe.com/currencies, read 2026-11-30."""

from __future__ import annotations

from functions.refunds.currencies import MINOR_DIGITS

_STRIPE_DIGITS = {"ISK": 2, "MGA": 0}
"""Where Stripe counts in other units: 5 ISK are 500 there (100 times ours), and 500 of our MGA are 5."""
_CONTRADICTED = frozenset({"UGX"})
"""Named both a zero-decimal and a two-decimal currency by the same page; a factor of 100 is not guessed."""
_LAST_DIGIT_ZERO = 3
"""Of three-decimal currencies Stripe takes only amounts whose last digit is 0."""


def stripe_amount(amount_minor: int, currency: str) -> int | None:
    """Our minor units in Stripe's; None where Stripe cannot be told exactly this amount."""
    if currency in _CONTRADICTED:
        return None
    ours = MINOR_DIGITS[currency]
    if ours == _LAST_DIGIT_ZERO and amount_minor % 10:
        return None
    shift = _STRIPE_DIGITS.get(currency, ours) - ours
    if shift >= 0:
        return int(amount_minor * 10**shift)
    whole, rest = divmod(amount_minor, 10**-shift)
    return None if rest else whole
