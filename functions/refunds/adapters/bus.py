"""From the bus: an event `refund.requested` in the standard envelope, its data the request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from functions.clock import Clock, wall_clock
from functions.events.entries import Entry
from functions.events.envelope import Envelope, MalformedEvent
from functions.events.guards import check
from functions.refunds.adapters.paying import MALFORMED, STOPPED, Paying, Told, refusal
from functions.refunds.answer import RETRYABLE
from functions.refunds.errors import RefundError
from functions.refunds.request import RefundRequest

EVENT_TYPE = "refund.requested"
ME = "refund"


class DeliverAgainError(Exception):
    """The refund cannot be settled now; an error of the invocation is how the bus is told to deliver again."""


class BusWorker:
    """One event an invocation. What no delivery can mend is acknowledged, told and alerted, and not delivered again."""

    def __init__(self, paying: Paying, told: Told, *, max_hops: int) -> None:
        self._paying = paying
        self._told = told
        self._max_hops = max_hops

    def handle(self, event: Mapping[str, object], *, deadline: float) -> dict[str, object]:
        """What became of it. Raises DeliverAgainError."""
        event_id = str(event.get("id", ""))
        try:
            envelope = _envelope(event)
        except MalformedEvent as malformed:
            self._told(MALFORMED, {"event_id": event_id, "reason": malformed.reason})
            return {"status": "malformed"}
        if stop := check(envelope, me=ME, max_hops=self._max_hops):
            self._told(STOPPED, {"event_id": event_id, "reason": stop.reason})
            return {"status": "stopped"}
        return self._pay(envelope, deadline)

    def _pay(self, envelope: Envelope, deadline: float) -> dict[str, object]:
        try:
            answer = self._paying(envelope.data, deadline=deadline)
        except RefundError as error:
            if error.retryable:
                raise DeliverAgainError(error.code) from None
            return refusal(error.code, str(error))
        if answer.status in RETRYABLE:
            raise DeliverAgainError(answer.status)
        return answer.to_json()


def refund_requested(request: RefundRequest, *, source_agent: str, clock: Clock = wall_clock) -> Entry:
    """The event that asks for a refund. Its deduplication id is the request_id, on every resend."""
    envelope = Envelope.new(
        EVENT_TYPE, asdict(request), correlation_id=request.request_id, source_agent=source_agent, clock=clock
    )
    return Entry(request.request_id, EVENT_TYPE, envelope.to_detail())


def _envelope(event: Mapping[str, object]) -> Envelope:
    envelope = Envelope.parse(event.get("detail"))
    if event.get("detail-type") != EVENT_TYPE or envelope.type != EVENT_TYPE:
        raise MalformedEvent("invalid_fields", ("type",))
    return envelope
