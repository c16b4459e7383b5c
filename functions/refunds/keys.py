"""Names: the request_id of an action, and where things stand in the two tables. Pure.

A request_id is minted once, when the action is approved, outside anything that is retried. One minted inside the tool
would be another on every attempt.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets

from functions.refunds.errors import InvalidRequestError

_REQUEST_ID = re.compile(r"rf_[0-9a-f]{32}")
_ORDER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/#-]{0,127}")
_ACTION_NAME = "refund"


def mint_request_id() -> str:
    """A new one: `rf_` and 128 random bits in hex."""
    return f"rf_{secrets.token_hex(16)}"


def derived_request_id(order_id: str, amount_minor: int, currency: str) -> str:
    """The fallback where nobody can keep a minted one: a digest of order, action and amount.

    It costs collisions: two rightful refunds of one amount on one order are one, and the second is never paid.
    """
    content = json.dumps([order_id, _ACTION_NAME, amount_minor, currency], separators=(",", ":")).encode()
    return f"rf_{hashlib.sha256(content).hexdigest()[:32]}"


def check_request_id(value: object) -> str:
    """Raises InvalidRequestError; what was given in its place is not repeated."""
    if not isinstance(value, str) or not _REQUEST_ID.fullmatch(value):
        raise InvalidRequestError(
            "request_id is missing or malformed; give the one that the approval printed, rf_ and 32 hex digits."
        )
    return value


def check_order_id(value: object) -> str:
    """Raises InvalidRequestError."""
    if not isinstance(value, str) or not _ORDER_ID.fullmatch(value):
        raise InvalidRequestError(
            "order_id is missing or malformed; give 1 to 128 letters, digits or any of . _ : / # - behind the first."
        )
    return value


def effect_id(request_id: str) -> str:
    """The record's id in the `idempotency` table."""
    return f"refund:{request_id}"


def order_row(order_id: str) -> dict[str, str]:
    return {"row_id": f"order:{order_id}"}


def action_row(request_id: str) -> dict[str, str]:
    return {"row_id": f"action:{request_id}"}


def request_id_of(row_id: str) -> str:
    """Of an action's row."""
    return row_id.removeprefix("action:")


def refund_row(request_id: str) -> dict[str, str]:
    return {"row_id": f"refund:{request_id}"}
