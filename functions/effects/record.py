"""The stored record of one effect: claim, outcome and audit in one item. Pure data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field

from functions.effects.outcomes import Outcome
from functions.effects.states import Event, State


class Resolution(BaseModel):
    """What an operator or the reconciler decided about a record, and why."""

    model_config = ConfigDict(frozen=True)

    event: str
    actor: str
    reason: str
    at: int


class EffectRecord(BaseModel):
    """One item of the `idempotency` table.

    `attempt` is the fence: it rises with every claim and never falls. `paid_attempts` counts attempts that may have
    been billed, `ordered_attempts` those that operators allowed beyond the policy; `lease_until_ms` is when the owner
    is certainly gone. `origin` asked for the latest attempt.
    Times are seconds since the epoch but for the lease (milliseconds).
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    id: str
    state: State
    attempt: int
    paid_attempts: int = 0
    ordered_attempts: int = 0
    owner: str = ""
    lease_until_ms: int = 0
    payload_hash: str
    origin: str = ""
    claimed_at: int = 0
    finished_at: int | None = None
    outcome: Outcome | None = None
    late_answers: int = 0
    resolutions: tuple[Resolution, ...] = Field(default=())

    @classmethod
    def from_item(cls, item: dict[str, Any]) -> Self:
        """From DynamoDB's item; its numbers become int (there are no others in it)."""
        return cls.model_validate(_plain(item))

    @property
    def reply(self) -> Outcome:
        """What a duplicate is told. Only of a record that is DONE or UNKNOWN."""
        if self.outcome is None:
            raise ValueError(f"a record that is {self.state} holds no outcome")
        return self.outcome

    @property
    def lease_until(self) -> float:
        return self.lease_until_ms / 1000

    def after(self, state: State, changes: dict[str, Any], removed: Sequence[str] = ()) -> Self:
        """The record as it is once these attributes were set and those removed; attributes that are not its own (the
        TTL) are left out."""
        after = {**changes, **dict.fromkeys(removed), "state": state}
        return self.model_copy(update={name: after[name] for name in after if name in type(self).model_fields})

    @property
    def one_proven_absent(self) -> bool:
        """Whether a proof ever took one of several attempts away."""
        return any(resolution.event == Event.PROVE_ONE_ABSENT for resolution in self.resolutions)

    def attempt_left(self, max_paid_attempts: int) -> bool:
        return self.paid_attempts < max_paid_attempts + self.ordered_attempts

    def final_without_request(self, max_paid_attempts: int) -> bool:
        """Whether a duplicate gets its answer from here: DONE, or UNKNOWN with no attempt left ("known")."""
        return self.state is State.DONE or (self.state is State.UNKNOWN and not self.attempt_left(max_paid_attempts))

    def reply_json(self) -> str:
        return json.dumps(self.reply.model_dump())


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value)
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value
