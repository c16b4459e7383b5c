"""What the refund functions are told by their environment. Seconds are wall-clock seconds."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from functions.refunds.errors import InvalidRequestError
from functions.refunds.money import check_amount, check_currency
from functions.settings import Environment


def _limits(value: object) -> object:
    if not isinstance(value, str):
        return value
    limits: dict[str, int] = {}
    for part in filter(None, (each.strip() for each in value.split(","))):
        currency, _, amount = part.partition("=")
        try:
            limits[check_currency(currency.strip())] = check_amount(int(amount))
        except (ValueError, InvalidRequestError):
            raise ValueError("write it as EUR=5000,JPY=8000: currencies and whole amounts in minor units") from None
    return limits


Limits = Annotated[dict[str, int], BeforeValidator(_limits)]


class LedgerSettings(Environment):
    """Whoever reads or writes the ledger."""

    refund_ledger_table: str


class ApprovalSettings(LedgerSettings):
    """`refund_limits`: up to these amounts, by currency, policy approves; above them and elsewhere a person decides."""

    refund_limits: Limits = Field(default_factory=dict)


class RefundSettings(LedgerSettings):
    """Whoever executes refunds.

    `provider_deadline_s`: how long a provider may take, as a total. `lease_grace_s` is added to the invocation's
    deadline to get the claim's lease. `stripe_keys_retention_s`: how long Stripe is relied on to keep an idempotency
    key (it promises at least 24 hours). `settle_s`: an unknown attempt is proven absent only by a look this long after
    the lease that it ran under, for a provider may still be at work on a request whose answer nobody waits for.
    """

    idempotency_table: str
    stripe_secret_id: str = ""
    stripe_api_base: str = "https://api.stripe.com"
    stripe_keys_retention_s: float = Field(86_400.0, ge=0)
    settle_s: float = Field(900.0, ge=0)
    provider_deadline_s: float = Field(20.0, gt=0)
    lease_grace_s: float = Field(5.0, ge=0)


class ReconcileSettings(RefundSettings):
    """The reconciler. `abandoned_s`: an approved action that nobody began in this time is run."""

    abandoned_s: float = Field(900.0, ge=0)
