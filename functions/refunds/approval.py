"""Approving and denying: where an action gets its request_id, once, outside anything that is retried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from functions.clock import Clock, wall_clock
from functions.refunds.errors import InvalidRequestError, UnknownOrderError
from functions.refunds.keys import check_order_id, check_request_id, derived_request_id, mint_request_id
from functions.refunds.ledger import Ledger
from functions.refunds.model import Action, Decision
from functions.refunds.money import check_amount, check_currency, money
from functions.refunds.providers.stripe_amounts import stripe_amount

POLICY = "policy"
"""Who decided, where no person did."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody wants done; nothing is stored of it before it is decided."""

    order_id: str
    amount_minor: int
    currency: str

    def __post_init__(self) -> None:
        """Raises InvalidRequestError."""
        check_order_id(self.order_id)
        check_amount(self.amount_minor)
        check_currency(self.currency)

    @property
    def derived_request_id(self) -> str:
        return derived_request_id(self.order_id, self.amount_minor, self.currency)


class Approvals:
    """Decides actions. `limits`: amounts up to which policy approves, in minor units by currency."""

    def __init__(self, ledger: Ledger, *, limits: Mapping[str, int], clock: Clock = wall_clock) -> None:
        self._ledger = ledger
        self._limits = limits
        self._clock = clock

    def by_policy(self, wanted: Wanted, *, request_id: str | None = None) -> Action | None:
        """The approved action, or None: it is over the limit and takes a person; nothing was stored."""
        limit = self._limits.get(wanted.currency, 0)
        if wanted.amount_minor > limit:
            return None
        return self.decide(wanted, "CONFIRM", actor=POLICY, why=f"at most {limit}", request_id=request_id)

    def decide(
        self, wanted: Wanted, decision: Decision, *, actor: str, why: str, request_id: str | None = None
    ) -> Action:
        """Store a person's decision and return the stored action.

        Give a `request_id` (a minted one, or `wanted.derived_request_id`) to make repeating this call harmless: a
        repeat returns the first decision, whatever it was. Without one each call approves one more refund. Raises
        KeyReusedError, UnknownOrderError, ExceedsPaidError and InvalidRequestError; nothing was stored then.
        """
        request_id = mint_request_id() if request_id is None else check_request_id(request_id)
        order = self._ledger.get_order(wanted.order_id)
        if order is None:
            raise UnknownOrderError(wanted.order_id)
        if order.provider == "stripe" and stripe_amount(wanted.amount_minor, wanted.currency) is None:
            amount = money(wanted.amount_minor, wanted.currency)
            raise InvalidRequestError(f"Stripe cannot be told exactly {amount}; it counts in other units of it.")
        return self._ledger.decide(
            Action(
                request_id=request_id,
                order_id=wanted.order_id,
                amount_minor=wanted.amount_minor,
                currency=wanted.currency,
                provider=order.provider,
                payment=order.payment,
                decision=decision,
                decided_by=actor,
                decided_at=int(self._clock()),
                why=why,
                state="approved" if decision == "CONFIRM" else "denied",
            )
        )
