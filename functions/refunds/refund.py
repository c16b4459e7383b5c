"""The use case: run one approved action, once, whoever asks how often."""

from __future__ import annotations

from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyAlreadyInProgressError

from functions.clock import Clock, wall_clock
from functions.effects.errors import KeyConflictError
from functions.effects.record import EffectRecord
from functions.effects.run import new_run
from functions.effects.states import State
from functions.refunds.answer import Answer, answer_of
from functions.refunds.asking import Asking
from functions.refunds.closing import Closing
from functions.refunds.effect import Guarded, intent_of
from functions.refunds.errors import KeyReusedError, ProviderMissingError
from functions.refunds.ledger import Ledger
from functions.refunds.model import Action
from functions.refunds.request import RefundRequest
from functions.refunds.standing import approved

ACTOR = "refund"
"""Who settled an unknown refund, where a call of the use case did."""


class Refund:
    """Runs approved actions. Safe to call again and again with the same request, at once or later."""

    def __init__(
        self, *, ledger: Ledger, guarded: Guarded, closing: Closing, asking: Asking, clock: Clock = wall_clock
    ) -> None:
        self._ledger = ledger
        self._guarded = guarded
        self._closing = closing
        self._asking = asking
        self._clock = clock

    def run(self, request: RefundRequest, *, deadline: float) -> Answer:
        """`deadline`: when this invocation is killed, seconds since the epoch.

        Raises NotApprovedError, DeniedError, KeyReusedError and ProviderMissingError: nothing was written or paid then.
        Whatever else it raises (a throttled table, a defect) leaves a claim that later calls and the reconciler settle.
        """
        action = approved(request, self._ledger.get_action(request.request_id))
        if not self._asking.can_pay(action):
            raise ProviderMissingError(action.provider)
        record, fresh = self._settled(action, deadline)
        if record.state is State.UNKNOWN and not fresh:
            # An earlier call's answer was lost; whoever calls again learns it as soon as the provider can tell.
            record = self._asking.ask(action, record, actor=ACTOR).record
        # A refund whose effect is the ledger's own row closed its action with it.
        if action.state != "closed" and not (fresh and action.provider == "ledger" and _succeeded(record)):
            self._closing.close(action, record)
        return answer_of(action, record, fresh=fresh, now=self._clock())

    def _settled(self, action: Action, deadline: float) -> tuple[EffectRecord, bool]:
        with new_run(deadline=deadline, origin=action.request_id) as run:
            try:
                self._guarded(item=intent_of(action), action=action)
            except IdempotencyAlreadyInProgressError:
                pass
            except KeyConflictError:
                raise KeyReusedError(action.request_id) from None
        if run.record is None:
            raise LookupError("a guarded call ended without a record")
        return run.record, run.fresh


def _succeeded(record: EffectRecord) -> bool:
    return record.state is State.DONE and record.reply.kind == "succeeded"
