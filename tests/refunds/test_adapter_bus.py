"""From the bus: an envelope in; acknowledged when it is settled or cannot be, an error when it is to come again."""

from __future__ import annotations

from typing import Any

import pytest

from functions.events.envelope import Envelope
from functions.refunds import errors
from functions.refunds.adapters.bus import EVENT_TYPE, BusWorker, DeliverAgainError, refund_requested
from functions.refunds.model import Action
from functions.refunds.providers.protocol import Reply

from .calling import INVOCATION_S, KINDS, Told, approved, asked, bad_requests, held_by_another, paying
from .world import World

PAID, LOST = Reply("succeeded", refund_id="re_1"), Reply("unknown", "connection_lost")
BUSY, REFUSED = Reply("released", "rate_limited", retry_after_s=7), Reply("failed", "charge_already_refunded")
MAX_HOPS = 4


def delivered(detail: Any, detail_type: str = EVENT_TYPE) -> dict[str, Any]:
    """As the bus hands one event to a function."""
    return {"version": "0", "id": "event-1", "detail-type": detail_type, "source": "agents", "detail": detail}


def event_of(action: Action) -> dict[str, Any]:
    return delivered(dict(refund_requested(action.request, source_agent="support@3").detail))


def with_data(data: Any) -> dict[str, Any]:
    envelope = Envelope.new(EVENT_TYPE, data, correlation_id="c-1", source_agent="support@3")
    return delivered(envelope.to_detail())


def handle(world: World, event: Any, told: Told | None = None) -> dict[str, Any]:
    told = told or Told()
    return BusWorker(paying(world, told), told, max_hops=MAX_HOPS).handle(event, deadline=world.now + INVOCATION_S)


def test_an_event_is_paid_once_however_often_it_is_delivered(world: World) -> None:
    action, provider = approved(world, PAID)
    assert [handle(world, event_of(action))["status"] for _ in range(3)] == ["done", "already_done", "already_done"]
    assert (provider.sent, len(world.rows())) == (1, 1)


def test_every_resend_of_an_actions_event_has_the_same_deduplication_id(world: World) -> None:
    action, _ = approved(world)
    ids = {refund_requested(action.request, source_agent="support@3").dedup_id for _ in range(2)}
    assert ids == {action.request_id}


def test_what_is_released_is_delivered_again_and_then_paid(world: World) -> None:
    action, _ = approved(world, BUSY, PAID)
    with pytest.raises(DeliverAgainError, match="not_started"):
        handle(world, event_of(action))
    assert handle(world, event_of(action))["status"] == "done"


def test_what_somebody_else_is_paying_is_delivered_again(world: World) -> None:
    action, provider = approved(world)
    held_by_another(world, action)
    with pytest.raises(DeliverAgainError, match="in_progress"):
        handle(world, event_of(action))
    assert provider.sent == 0


@pytest.mark.parametrize(("reply", "status"), [(LOST, "unknown"), (REFUSED, "failed")])
def test_what_a_further_delivery_cannot_change_is_acknowledged(world: World, reply: Reply, status: str) -> None:
    action, provider = approved(world, reply)
    assert handle(world, event_of(action))["status"] == status
    assert provider.sent == 1


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "no object"])
def test_bad_data_is_refused_told_and_not_delivered_again(world: World, kind: str) -> None:
    action, provider = approved(world)
    data, name = bad_requests(action)[kind]
    told, before = Told(), world.rows("")
    assert handle(world, with_data(data), told)["reason"] == getattr(errors, name).code
    assert told.metrics == ["KeysReused" if name == "KeyReusedError" else "RefundsRefused"]
    assert (world.rows(""), provider.sent) == (before, 0)


@pytest.mark.parametrize("broken", ["no envelope", "another version", "another type", "another type of the envelope"])
def test_what_is_no_envelope_of_ours_is_told_by_the_events_id_and_moves_nothing(world: World, broken: str) -> None:
    action, provider = approved(world)
    event = event_of(action)
    match broken:
        case "no envelope":
            event["detail"] = asked(action)
        case "another version":
            event["detail"]["schema_version"] = 2
        case "another type":
            event["detail-type"] = "prospect.submitted"
        case _:
            event["detail"]["type"] = "refund.wanted"
    told = Told()
    assert handle(world, event, told) == {"status": "malformed"}
    assert [(metric, known["event_id"]) for metric, known in told.lines] == [("EventsMalformed", "event-1")]
    assert provider.sent == 0


@pytest.mark.parametrize(("changes", "reason"), [({"lineage": ["refund"]}, "self_trigger"), ({"hops": 5}, "hop_limit")])
def test_a_loop_is_stopped_before_anything_is_read_of_the_action(
    world: World, changes: dict[str, Any], reason: str
) -> None:
    action, provider = approved(world)
    event = event_of(action)
    event["detail"] |= changes
    told = Told()
    assert handle(world, event, told) == {"status": "stopped"}
    assert told.lines == [("EventsStopped", {"event_id": "event-1", "reason": reason})]
    assert provider.sent == 0
