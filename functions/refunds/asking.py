"""Asking the provider what became of an unknown refund, by our reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from functions.clock import Clock, wall_clock
from functions.effects.errors import MoveRefusedError
from functions.effects.record import EffectRecord
from functions.effects.resolve import Resolver
from functions.refunds.effect import Providers, outcome_of
from functions.refunds.model import Action
from functions.refunds.providers.protocol import Absent, CannotTell, Found
from functions.refunds.standing import absence_is_proof

FOUND = "the provider has a refund under our reference"
ABSENT = "the provider has no refund under our reference, long after the attempt's end"


@dataclass(frozen=True, slots=True)
class Asked:
    """`verdict`, and the record as it is then.

    found        the refund exists; the record is DONE
    absent       it does not; the record is RELEASED, and the refund may be run again
    settling     there is none yet, and it is too early to believe that
    cannot_tell  the provider does not say (`reason`); a person can decide
    moved        somebody else settled it meanwhile; look again
    """

    verdict: Literal["found", "absent", "settling", "cannot_tell", "moved"]
    record: EffectRecord
    reason: str = ""


class Asking:
    """`settle_s`: how long after its lease an attempt's absence is believed."""

    def __init__(self, providers: Providers, resolver: Resolver, *, settle_s: float, clock: Clock = wall_clock) -> None:
        self._providers = providers
        self._resolver = resolver
        self._settle_s = settle_s
        self._clock = clock

    def can_pay(self, action: Action) -> bool:
        """Whether this deployment has the action's provider."""
        return action.provider in self._providers

    def ask(self, action: Action, record: EffectRecord, *, actor: str) -> Asked:
        """About a record that is UNKNOWN. A look alone never lets anything be sent again before it is proof."""
        # Before the look: what is proof is decided by when it began, and it is about this record's attempt alone. A
        # later one, sent while the look was on its way, is moved by none of its answers.
        is_proof = absence_is_proof(record, self._clock(), self._settle_s)
        try:
            match self._providers[action.provider].look_up(action):
                case Found(reply):
                    outcome = outcome_of(action, reply)
                    settled = self._resolver.prove_happened(record, actor=actor, reason=FOUND, outcome=outcome)
                    return Asked("found", settled)
                case Absent() if is_proof:
                    return Asked("absent", self._resolver.prove_absent(record, actor=actor, reason=ABSENT))
                case Absent():
                    return Asked("settling", record)
                case CannotTell(reason):
                    return Asked("cannot_tell", record, reason)
        except MoveRefusedError:
            return Asked("moved", record)
