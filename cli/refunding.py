"""The refund commands over a cloud: what is decided and told goes to its tables, what pays to its functions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from pydantic import ValidationError

from cli.errors import CommandError, NotSoError
from cli.target import Target
from functions.effects.record import EffectRecord
from functions.effects.resolve import Resolver
from functions.effects.table import EffectTable
from functions.refunds import errors
from functions.refunds.approval import Approvals, Wanted
from functions.refunds.closing import Closing
from functions.refunds.errors import NotApprovedError, RefundError
from functions.refunds.keys import check_request_id, effect_id
from functions.refunds.ledger import Ledger
from functions.refunds.model import Action, Decision, Order, RefundRow, Unreadable
from functions.refunds.resolve import Resolve, What
from functions.refunds.standing import Standing, standing_of

_REFUSALS = frozenset(
    each.__name__ for each in vars(errors).values() if isinstance(each, type) and issubclass(each, RefundError)
)
NOT_DEPLOYED = "This deployment has no refund tool: deploy it with the setting refunds=true."


@dataclass(frozen=True, slots=True)
class RefundStatus:
    """One action, the record of its effect and its refund row, as far as they exist."""

    action: Action
    record: EffectRecord | None
    row: RefundRow | None

    @property
    def standing(self) -> Standing:
        return standing_of(self.action, self.record)

    @property
    def attempts(self) -> int:
        return self.record.attempt if self.record else 0

    @property
    def reason(self) -> str:
        return self.record.outcome.reason if self.record and self.record.outcome else ""

    def to_json(self) -> dict[str, Any]:
        """The members and their order are a contract (docs/commands.md)."""
        action, record = self.action, self.record
        resolutions = record.resolutions if record else ()
        return {
            "request_id": action.request_id,
            "standing": self.standing,
            "reason": self.reason or None,
            "order_id": action.order_id,
            "amount_minor": action.amount_minor,
            "currency": action.currency,
            "provider": action.provider,
            "decision": action.decision,
            "decided_by": action.decided_by,
            "decided_at": action.decided_at,
            "why": action.why,
            "state": action.state,
            "refund_id": self.row.refund_id if self.row else None,
            "refunded_at": self.row.refunded_at if self.row else None,
            "attempts": self.attempts,
            "decisions": [each.model_dump() for each in resolutions],
        }


class Refunds:
    """Orders on one cloud, given by the caller of the command."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._cloud = target.cloud
        self._ledger = Ledger(self._table("RefundLedgerTableName"))
        self._effects = EffectTable(self._table("IdempotencyTableName"))

    def record_order(self, order: Order) -> bool:
        """False: it was recorded before. Raises RefundError; so do all of these."""
        return self._ledger.record_order(order) == "recorded"

    def decide(self, wanted: Wanted, decision: Decision, *, why: str, request_id: str) -> Action:
        approvals = Approvals(self._ledger, limits={})
        return approvals.decide(wanted, decision, actor=self._target.actor, why=why, request_id=request_id)

    def request(self, wanted: Wanted, *, request_id: str) -> None:
        """Have policy approve it. Raises NotSoError where it takes a person."""
        answer = self._invoke("Approve", {**asdict(wanted), "request_id": request_id})
        if answer["decision"] == "needs_a_person":
            raise NotSoError(
                "It is over the limit of what policy approves, so nothing was stored: "
                "a person decides with prospects refund approve or deny."
            )
        if answer["decision"] == "DENY":
            raise errors.DeniedError(request_id)

    def run(self, request_id: str) -> dict[str, Any]:
        """The tool's answer about an approved action."""
        return self._invoke("Tool", asdict(self._action(request_id).request))

    def reconcile(self) -> dict[str, Any]:
        """One pass of the deployed reconciler: how many looks ended how."""
        return self._invoke("Reconcile", {})

    def status(self, request_id: str) -> RefundStatus:
        return self._status(self._action(request_id))

    def open(self) -> Iterator[RefundStatus | Unreadable]:
        """Approved and neither refunded nor finally failed, the oldest first."""
        for action in self._ledger.open_actions():
            yield action if isinstance(action, Unreadable) else self._status(action)

    def resolve(self, request_id: str, what: What, *, attempt: int, reason: str, refund_id: str) -> None:
        resolver = Resolver(self._effects, retention_days=None)
        settle = Resolve(self._ledger, self._effects, resolver, Closing(self._ledger))
        settle.resolve(
            self._action(request_id).request_id,
            what,
            attempt=attempt,
            actor=self._target.actor,
            reason=reason,
            refund_id=refund_id,
        )

    def _action(self, request_id: str) -> Action:
        try:
            action = self._ledger.get_action(check_request_id(request_id))
        except ValidationError:
            raise CommandError(
                f"The item of the action {request_id} in the ledger is not as it was written; somebody has changed it, "
                "so compare it with a backup of the table before you mend it by hand."
            ) from None
        if action is None:
            raise NotApprovedError(request_id)
        return action

    def _status(self, action: Action) -> RefundStatus:
        record = self._effects.read(effect_id(action.request_id))
        return RefundStatus(action, record, self._ledger.get_refund(action.request_id))

    def _invoke(self, worker: str, event: dict[str, Any]) -> dict[str, Any]:
        function = self._output(f"Refund{worker}FunctionName")
        answer = self._cloud.client("lambda").invoke(FunctionName=function, Payload=json.dumps(event).encode())
        payload = json.loads(answer["Payload"].read() or b"null")
        if "FunctionError" in answer:
            kind = str(payload.get("errorType", "")) if isinstance(payload, dict) else ""
            if kind in _REFUSALS:
                raise NotSoError(str(payload["errorMessage"]))
            raise CommandError(f"The function {function} failed ({kind or 'no answer'}); its log tells why.")
        return dict(payload)

    def _table(self, output: str) -> Any:
        return self._cloud.resource("dynamodb").Table(self._output(output))

    def _output(self, name: str) -> str:
        if name not in self._cloud.outputs:
            raise CommandError(NOT_DEPLOYED)
        return self._cloud.outputs[name]
