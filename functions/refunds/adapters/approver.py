"""Decides actions for whoever may invoke it: by policy under the limit, or as a person said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from functions.refunds.adapters.paying import Told
from functions.refunds.approval import POLICY, Approvals, Wanted
from functions.refunds.errors import InvalidRequestError
from functions.refunds.keys import check_request_id
from functions.refunds.model import Action, Decision

DECISIONS: tuple[Decision, ...] = ("CONFIRM", "DENY")
NEEDS_A_PERSON = "needs_a_person"
LONGEST_TEXT = 500
COUNTED_AS = {"CONFIRM": "ActionsApproved", "DENY": "ActionsDenied", NEEDS_A_PERSON: "ActionsWaiting"}
"""Metric of each decision."""


class Approver:
    """Never mints a request_id: an invocation may be repeated, and each repeat would approve one more refund."""

    def __init__(self, approvals: Approvals, told: Told) -> None:
        self._approvals = approvals
        self._told = told

    def __call__(self, event: object) -> dict[str, Any]:
        """`event`: order_id, amount_minor and currency; `request_id` as minted by the caller, or `derived`: true; and
        for a person's decision `decision`, `actor` and `why`. Raises RefundError; nothing was stored then.

        Answers `decision` CONFIRM or DENY with the `request_id`, or `needs_a_person`.
        """
        given = _object(event)
        wanted = Wanted(given.get("order_id"), given.get("amount_minor"), given.get("currency"))  # type: ignore[arg-type]
        request_id = _request_id(given, wanted)
        if "decision" in given:
            action: Action | None = self._approvals.decide(
                wanted, _decision(given), actor=_actor(given), why=_text(given, "why"), request_id=request_id
            )
        else:
            action = self._approvals.by_policy(wanted, request_id=request_id)
        decided = action.decision if action else NEEDS_A_PERSON
        self._told(COUNTED_AS[decided], {"request_id": request_id})
        return {"decision": decided, "request_id": request_id}


_FIELDS = frozenset({"order_id", "amount_minor", "currency", "request_id", "derived", "decision", "actor", "why"})


def _object(event: object) -> Mapping[str, Any]:
    if not isinstance(event, Mapping) or not set(event) <= _FIELDS:
        raise InvalidRequestError(f"The event is no object of {', '.join(sorted(_FIELDS))}; give these and no others.")
    return event


def _request_id(given: Mapping[str, Any], wanted: Wanted) -> str:
    derived = given.get("derived", False)
    if ("request_id" in given) == (derived is True) or not isinstance(derived, bool):
        raise InvalidRequestError("Give a request_id, minted once before the first call, or derived: true.")
    # Checked here: without one the use case would mint it, and a repeat of this invocation would mint another.
    return wanted.derived_request_id if derived else check_request_id(given["request_id"])


def _decision(given: Mapping[str, Any]) -> Decision:
    for decision in DECISIONS:
        if given["decision"] == decision:
            return decision
    raise InvalidRequestError(f"decision is none; it is {' or '.join(DECISIONS)}.")


def _actor(given: Mapping[str, Any]) -> str:
    actor = _text(given, "actor")
    if actor.strip().casefold() == POLICY:
        raise InvalidRequestError(f"actor is {POLICY}, which is nobody; name the person who decided.")
    return actor


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not 0 < len(value.strip()) <= LONGEST_TEXT:
        raise InvalidRequestError(f"{name} is missing; a person's decision takes 1 to {LONGEST_TEXT} characters of it.")
    return value
