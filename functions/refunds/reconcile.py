"""The reconciler: every approved action that is not closed is looked at, and brought on as far as can be known."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from functions.clock import Clock, wall_clock
from functions.effects.claims import Claims
from functions.effects.record import EffectRecord
from functions.effects.table import EffectTable
from functions.refunds.answer import Status
from functions.refunds.asking import Asking
from functions.refunds.closing import Closing
from functions.refunds.keys import effect_id
from functions.refunds.ledger import Ledger
from functions.refunds.model import Action, Unreadable
from functions.refunds.refund import Refund
from functions.refunds.standing import standing_of

ACTOR = "reconciler"
UNREADABLE = "unreadable_item"
Verdict = Literal["closed", "found", "run", "waiting", "in_progress", "settling", "cannot_tell", "moved", "error"]


@dataclass(frozen=True, slots=True)
class Looked:
    """What came of one action.

    closed       its record was final and the ledger lacked what follows; written
    found        it was unknown and the provider has it; closed
    run          nothing of it had been paid; it was run (`status` and `reason`: where that ended)
    waiting      it was approved a moment ago, and whoever asked for it may still run it
    in_progress  somebody is paying it
    settling     it is unknown, and too early to believe the provider that it has none
    cannot_tell  it is unknown, and the provider does not say (`reason`)
    moved        somebody else settled it meanwhile
    error        the look failed (`reason`: the exception's type, or that the ledger's item is not readable)
    """

    request_id: str
    verdict: Verdict
    reason: str = ""
    status: Status | None = None
    unknown_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Reconciled:
    """One pass. `complete`: whether every open action was looked at before the time was over."""

    looked: tuple[Looked, ...]
    complete: bool


class Reconciler:
    """Safe to run at any time, beside calls and beside itself."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        effects: EffectTable,
        claims: Claims,
        refund: Refund,
        asking: Asking,
        closing: Closing,
        abandoned_s: float,
        call_s: float,
        clock: Clock = wall_clock,
    ) -> None:
        """`call_s`: the time that one action may take."""
        self._ledger = ledger
        self._effects = effects
        self._claims = claims
        self._refund = refund
        self._asking = asking
        self._closing = closing
        self._abandoned_s = abandoned_s
        self._call_s = call_s
        self._clock = clock

    def run(self, *, deadline: float) -> Reconciled:
        """One pass over the open actions, for as long as the invocation lasts."""
        actions, looked = list(self._ledger.open_actions()), []
        # In no order: looks that take long must not keep the same others waiting in every pass.
        random.shuffle(actions)
        for action in actions:
            if deadline - self._clock() < self._call_s:
                break
            looked.append(self._guarded_look(action, deadline))
        return Reconciled(tuple(looked), complete=len(looked) == len(actions))

    def _guarded_look(self, action: Action | Unreadable, deadline: float) -> Looked:
        if isinstance(action, Unreadable):
            return Looked(action.request_id, "error", UNREADABLE)
        try:
            return self.look(action, deadline=deadline)
        except Exception as error:  # noqa: BLE001 - one action that cannot be looked at does not keep the others waiting
            return Looked(action.request_id, "error", type(error).__name__)

    def look(self, action: Action, *, deadline: float) -> Looked:
        """Bring one approved action on."""
        record = self._effects.read(effect_id(action.request_id))
        if record is not None:
            record = self._claims.settle_expired(record)
        match standing_of(action, record):
            case "not_started":
                return self._run(action, record, deadline)
            case "unknown" if record is not None:
                return self._ask(action, record, deadline)
            case "intended":
                return Looked(action.request_id, "in_progress")
            case _:
                closed = record is not None and self._closing.close(action, record)
                return Looked(action.request_id, "closed" if closed else "moved")

    def _run(self, action: Action, record: EffectRecord | None, deadline: float) -> Looked:
        if record is None and self._clock() - action.decided_at < self._abandoned_s:
            return Looked(action.request_id, "waiting")
        answer = self._refund.run(action.request, deadline=deadline)
        return Looked(action.request_id, "run", answer.reason, answer.status)

    def _ask(self, action: Action, record: EffectRecord, deadline: float) -> Looked:
        asked = self._asking.ask(action, record, actor=ACTOR)
        match asked.verdict:
            case "found":
                self._closing.close(action, asked.record)
                return Looked(action.request_id, "found")
            case "absent":
                return self._run(action, asked.record, deadline)
            case "settling" | "cannot_tell":
                age = self._clock() - _in_doubt_since(record)
                return Looked(action.request_id, asked.verdict, asked.reason, unknown_s=age)
            case "moved":
                return Looked(action.request_id, "moved")


def _in_doubt_since(record: EffectRecord) -> int:
    """When an attempt was first in doubt, whatever was proven absent since: a provider that answers every repeat as it
    answered the first request would otherwise keep a refund unknown for days, and young."""
    return min([record.claimed_at, *(each.at for each in record.resolutions)])
