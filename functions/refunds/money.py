"""Amounts: integers in the minor unit of an ISO 4217 currency. Pure."""

from __future__ import annotations

from functions.refunds.currencies import MINOR_DIGITS
from functions.refunds.errors import InvalidRequestError

MAX_AMOUNT_MINOR = 10**12
"""Above this an amount is taken for a mistake; ten billion dollars, and exact in every JSON reader."""


def check_amount(value: object) -> int:
    """The amount, if it is one. Raises InvalidRequestError: a float, a text or a truth value is never taken for one."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidRequestError(
            "amount_minor is not a whole number; give the amount in the currency's minor unit, as 1250 for 12.50 EUR."
        )
    if not 0 < value <= MAX_AMOUNT_MINOR:
        raise InvalidRequestError(f"amount_minor is out of range; it goes from 1 to {MAX_AMOUNT_MINOR}.")
    return value


def check_currency(value: object) -> str:
    """The alphabetic code, if it is one. Raises InvalidRequestError."""
    if not isinstance(value, str) or value not in MINOR_DIGITS:
        raise InvalidRequestError("currency is no code of ISO 4217 with a minor unit; give three capitals, as EUR.")
    return value


def money(amount_minor: int, currency: str) -> str:
    """For people: 1250 of EUR is "12.50 EUR"."""
    digits = MINOR_DIGITS[currency]
    if not digits:
        return f"{amount_minor} {currency}"
    whole, part = divmod(amount_minor, 10**digits)
    return f"{whole}.{part:0{digits}} {currency}"
