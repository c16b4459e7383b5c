"""What a caller asks for, checked before anything is read. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from functions.refunds.errors import InvalidRequestError
from functions.refunds.keys import check_order_id, check_request_id
from functions.refunds.money import check_amount, check_currency

FIELDS = ("request_id", "order_id", "amount_minor", "currency")


@dataclass(frozen=True, slots=True)
class RefundRequest:
    """A refund of `amount_minor` of `currency` on `order_id`, approved under `request_id`."""

    request_id: str
    order_id: str
    amount_minor: int
    currency: str

    @classmethod
    def parse(cls, given: object) -> Self:
        """From a decoded JSON object of exactly these members. Raises InvalidRequestError in a sentence."""
        if not isinstance(given, Mapping):
            raise InvalidRequestError(f"The request is no JSON object; give one with {_listed(FIELDS)}.")
        # An unknown member is refused: whoever sent it means something that would not be done.
        if any(name not in FIELDS for name in given):
            raise InvalidRequestError(f"The request has members that no refund has; it takes {_listed(FIELDS)}.")
        return cls(
            request_id=check_request_id(given.get("request_id")),
            order_id=check_order_id(given.get("order_id")),
            amount_minor=check_amount(given.get("amount_minor")),
            currency=check_currency(given.get("currency")),
        )


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
