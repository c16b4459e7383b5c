"""A person's decision about a refund that nobody else can tell of; who and why are kept in its record."""

from __future__ import annotations

from typing import Literal

from functions.effects.errors import MoveRefusedError
from functions.effects.outcomes import Outcome
from functions.effects.record import EffectRecord
from functions.effects.resolve import Resolver
from functions.effects.table import EffectTable
from functions.refunds.closing import Closing
from functions.refunds.effect import outcome_of
from functions.refunds.errors import NotApprovedError, NotUnknownError
from functions.refunds.keys import effect_id
from functions.refunds.ledger import Ledger
from functions.refunds.providers.protocol import Reply

What = Literal["happened", "absent"]


class Resolve:
    """`happened`: the provider has it, so its row is written. `absent`: it certainly has not, so it may run again."""

    def __init__(self, ledger: Ledger, effects: EffectTable, resolver: Resolver, closing: Closing) -> None:
        self._ledger = ledger
        self._effects = effects
        self._resolver = resolver
        self._closing = closing

    def resolve(
        self, request_id: str, what: What, *, attempt: int, actor: str, reason: str, refund_id: str = ""
    ) -> EffectRecord:
        """The record as it is then. `refund_id`: the provider's name of the refund, where it is known.

        `attempt`: the one that the person looked at; what they know of it settles no later one, which the reconciler
        may have sent meanwhile. Raises NotApprovedError where there is no such action, NotUnknownError where nothing is
        to be decided about this attempt.
        """
        action = self._ledger.get_action(request_id)
        if action is None:
            raise NotApprovedError(request_id)
        seen = self._effects.read(effect_id(request_id))
        if seen is None or seen.attempt != attempt:
            raise NotUnknownError(request_id)
        try:
            if what == "absent":
                return self._resolver.prove_absent(seen, actor=actor, reason=reason)
            outcome: Outcome = outcome_of(action, Reply("succeeded", refund_id=refund_id))
            record = self._resolver.prove_happened(seen, actor=actor, reason=reason, outcome=outcome)
        except MoveRefusedError:
            raise NotUnknownError(request_id) from None
        self._closing.close(action, record)
        return record
