"""Refunds through the real Stripe library and a stand-in over HTTP that goes wrong by script."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import stripe

from functions.refunds.errors import ProviderMissingError
from functions.refunds.model import Action
from functions.refunds.providers.protocol import Absent, CannotTell
from local.payments.standin import Reply

from .payments import Payments, payments
from .world import SETTINGS, World

PAYMENT = "ch_10000eur_1"
SETTLED_S = 60 + SETTINGS.lease_grace_s + SETTINGS.settle_s + 1
DAY_S = 86_400.0


@contextmanager
def paying(world: World, *rules: Any, keys_retention_s: float = DAY_S, **provider: Any) -> Iterator[Payments]:
    """Orders of this world are refunded through a stand-in of these rules."""
    script = {"rules": list(rules), "keys_retention_s": keys_retention_s}
    with payments(script, world.clock) as opened:
        world.providers["stripe"] = opened.provider(keys_retention_s=keys_retention_s, **provider)
        world.order(provider="stripe", payment=PAYMENT)
        yield opened


def at_the_first_request(then: Any) -> Any:
    return {"when": {"request": 1}, "then": then}


def test_it_goes_well_in_three_write_requests_and_one_refund(world: World) -> None:
    with paying(world) as provider:
        action = world.approve()
        before = world.writes
        assert world.run(action).status == "done"
        assert world.writes - before == 3
        assert world.run(action).status == "already_done"
        assert provider.standin.counts() == {
            "requests": 1,
            "refunds": 1,
            "by_request_id": {action.request_id: 1},
            "amount_by_payment": {PAYMENT: 1_250},
        }
    [row] = world.rows()
    assert (row["refund_id"], row["provider"]) == ("re_standin_1", "stripe")
    assert list(world.ledger.open_actions()) == []


def test_an_answer_dropped_after_it_was_made_is_unknown_and_reconciled_to_done(world: World) -> None:
    with paying(world, at_the_first_request({"drop": "after_applying"})) as provider:
        action = world.approve()
        answer = world.run(action)
        assert (answer.status, answer.reason) == ("unknown", "provider_connection_lost_outcome_unknown")
        assert world.rows() == []
        assert world.reconcile() == ["found"]
        assert world.run(action).status == "already_done"
        assert provider.standin.counts()["refunds"] == 1
    assert [row["refund_id"] for row in world.rows()] == ["re_standin_1"]
    record = world.record(action)
    assert record is not None
    assert [each.actor for each in record.resolutions] == ["reconciler"]


def test_whoever_calls_again_after_a_lost_answer_is_told_the_truth_at_once(world: World) -> None:
    with paying(world, at_the_first_request({"drop": "after_applying"})) as provider:
        action = world.approve()
        assert world.run(action).status == "unknown"
        answer = world.run(action)
        assert (answer.status, answer.refund_id) == ("already_done", "re_standin_1")
        assert provider.standin.counts()["refunds"] == 1
    assert len(world.rows()) == 1


@pytest.mark.parametrize("keys_retention_s", [DAY_S, 60.0, 0.0], ids=["keeps keys", "forgets keys", "has no keys"])
def test_a_request_that_never_arrived_runs_again_only_once_its_absence_is_proven(
    world: World, keys_retention_s: float
) -> None:
    drop = at_the_first_request({"drop": "before_applying"})
    with paying(world, drop, keys_retention_s=keys_retention_s) as provider:
        action = world.approve()
        assert world.run(action).status == "unknown"
        # Too early: the request may still be on its way.
        assert world.reconcile() == ["settling"]
        assert world.run(action).status == "unknown"
        assert provider.standin.counts()["refunds"] == 0
        world.now += SETTLED_S
        assert world.reconcile() == ["run"]
        assert provider.standin.counts()["by_request_id"] == {action.request_id: 1}
    assert len(world.rows()) == 1


@pytest.mark.parametrize("keys_retention_s", [DAY_S, 60.0, 0.0], ids=["keeps keys", "forgets keys", "has no keys"])
def test_a_refund_that_is_made_after_everybody_gave_up_is_found_and_not_made_twice(
    world: World, keys_retention_s: float
) -> None:
    late = at_the_first_request({"delay_s": 600, "apply": "after"})
    with paying(world, late, keys_retention_s=keys_retention_s, deadline_s=0.5) as provider:
        action = world.approve()
        answer = world.run(action)
        assert (answer.status, answer.reason) == ("unknown", "provider_timeout_outcome_unknown")
        assert world.reconcile() == ["settling"]
        provider.let_go()
        world.now += SETTLED_S
        assert world.reconcile() == ["found"]
        assert provider.standin.counts()["by_request_id"] == {action.request_id: 1}


@pytest.mark.parametrize(
    ("keys_retention_s", "later_s"),
    [(DAY_S, 0.0), (DAY_S, DAY_S), (0.0, 0.0)],
    ids=["the key is kept", "the key is forgotten", "there are no keys"],
)
def test_a_person_who_is_wrong_about_an_unknown_refund_pays_nothing_twice(
    world: World, keys_retention_s: float, later_s: float
) -> None:
    dropped = at_the_first_request({"drop": "after_applying"})
    with paying(world, dropped, keys_retention_s=keys_retention_s) as provider:
        action = world.approve()
        assert world.run(action).status == "unknown"
        world.resolve.resolve(action.request_id, "absent", attempt=1, actor="ann", reason="not in the dashboard")
        world.now += later_s
        # While the key is kept it stops the repeat; without it, the look before the repeat finds what nobody saw.
        assert world.run(action).status == "done"
        assert provider.standin.counts()["by_request_id"] == {action.request_id: 1}
    assert [row["refund_id"] for row in world.rows()] == ["re_standin_1"]


def test_an_error_of_the_provider_that_decides_nothing_is_unknown_and_one_that_refuses_is_final(world: World) -> None:
    server = {"when": {"request": 1}, "then": {"status": 500, "type": "api_error"}}
    refused = {"when": {"request": 2}, "then": {"status": 400, "code": "charge_disputed"}}
    with paying(world, server, refused):
        assert world.run(world.approve()).status == "unknown"
        action = world.approve(8_000)
        answer = world.run(action)
        assert (answer.status, answer.reason) == ("failed", "provider_refused_charge_disputed")
        # What was not paid is free for other refunds again, once.
        for _ in range(2):
            assert world.run(action).status == "failed"
        assert world.order_of().committed_minor == 1_250


def test_a_key_that_was_used_for_something_else_keeps_its_money_committed(world: World) -> None:
    with paying(world, at_the_first_request({"status": 400, "type": "idempotency_error"})):
        action = world.approve()
        answer = world.run(action)
        assert (answer.status, answer.reason) == ("failed", "key_reused_at_provider")
        # Something was paid under it, so the order must not be refunded as if nothing were.
        assert world.order_of().committed_minor == 1_250
        assert list(world.ledger.open_actions()) == []


def test_a_refused_key_or_a_limit_spends_no_attempt_and_the_same_call_pays_later(world: World) -> None:
    rules = [
        {"when": {"request": 1}, "then": {"status": 401}},
        {"when": {"request": 2}, "then": {"status": 429, "headers": {"retry-after": "7"}}},
    ]
    with paying(world, *rules) as provider:
        action = world.approve()
        first, second, third = (world.run(action) for _ in range(3))
        assert (first.status, first.reason) == ("not_started", "provider_key_refused")
        assert provider.key.forgotten == ["sk_test_1"]
        assert (second.reason, second.retry_after_s) == ("provider_rate_limited", 7)
        assert third.status == "done"
        assert provider.standin.counts()["refunds"] == 1


def test_a_provider_that_cannot_tell_leaves_the_decision_to_a_person(world: World) -> None:
    with paying(world, at_the_first_request({"drop": "before_applying"})):
        action = world.approve()
        assert world.run(action).status == "unknown"
        world.providers["stripe"] = _Silent()
        world.now += SETTLED_S
        [looked] = world.reconciler.run(deadline=world.now + 900).looked
        assert (looked.verdict, looked.reason, looked.unknown_s) == ("cannot_tell", "silent", SETTLED_S)
        world.resolve.resolve(
            action.request_id, "happened", attempt=1, actor="ann", reason="on the statement", refund_id="re_9"
        )
    [row] = world.rows()
    assert row["refund_id"] == "re_9"
    assert list(world.ledger.open_actions()) == []


def test_a_look_tells_none_one_and_what_does_not_fit_apart(world: World) -> None:
    with paying(world, at_the_first_request({"drop": "after_applying"})) as provider:
        action = world.approve()
        asked = world.providers["stripe"]
        assert asked.look_up(action) == Absent()
        world.run(action)
        doubled = action.model_copy(update={"amount_minor": 2_500})
        assert asked.look_up(doubled) == CannotTell("another_refund_found")
        unreachable = provider.provider(url="http://127.0.0.1:9")
        assert unreachable.look_up(action) == CannotTell("provider_look_up_failed")


REFUND = {"id": "re_1", "object": "refund", "amount": 2_000, "currency": "eur", "status": "succeeded"}


@pytest.mark.parametrize(
    "answered",
    [
        b"",
        b"[]",
        b"<html>",
        b"\xff",
        b"7",
        {},
        {"object": "list"},
        {"object": "list", "data": None, "has_more": False},
        {"object": "list", "data": {}, "has_more": True},
        {"object": "list", "data": [7], "has_more": False},
        {"object": "list", "data": [], "has_more": True},
        {"object": "list", "data": [{**REFUND, "metadata": "text"}], "has_more": False},
        # The same page for ever.
        {"object": "list", "data": [{**REFUND, "metadata": {}}] * 100, "has_more": True},
    ],
)
def test_a_list_of_refunds_that_is_none_proves_nothing_absent(
    world: World, monkeypatch: pytest.MonkeyPatch, answered: Any
) -> None:
    body = answered if isinstance(answered, bytes) else json.dumps(answered).encode()
    with paying(world) as provider:
        monkeypatch.setattr(provider.standin, "list", lambda _parameters: Reply(200, body))
        assert isinstance(world.providers["stripe"].look_up(world.approve()), CannotTell)


def test_a_library_that_retries_sends_nothing_twice(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stripe.HTTPClient, "INITIAL_DELAY", 0)
    monkeypatch.setattr(stripe.HTTPClient, "MAX_DELAY", 0)
    whole = stripe.StripeClient

    def insisting(*arguments: Any, **named: Any) -> stripe.StripeClient:
        return whole(*arguments, **named | {"max_network_retries": 3})

    monkeypatch.setattr(stripe, "StripeClient", insisting)
    with paying(world, at_the_first_request({"status": 500, "type": "api_error"})) as provider:
        answer = world.run(world.approve())
        assert (answer.status, answer.reason) == ("unknown", "provider_error_outcome_unknown")
        assert provider.standin.counts()["requests"] == 1


def test_a_look_reads_every_page_of_a_payments_refunds(world: World) -> None:
    with paying(world) as provider:
        first = world.approve(100)
        world.run(first)
        for _ in range(11):
            world.run(world.approve(100))
        found: Any = world.providers["stripe"].look_up(first)
        assert found.reply.refund_id == "re_standin_1"
        assert provider.standin.counts()["amount_by_payment"] == {PAYMENT: 1_200}


def test_without_the_providers_key_nothing_is_claimed(world: World) -> None:
    world.order(provider="stripe", payment=PAYMENT)
    action = world.approve()
    with pytest.raises(ProviderMissingError):
        world.run(action)
    assert world.record(action) is None


class _Silent:
    keys_retention_s: float | None = None

    def refund(self, action: Action, **_: Any) -> Any:
        raise AssertionError("nothing may be sent")

    def look_up(self, action: Action) -> CannotTell:
        return replace(CannotTell(""), reason="silent")


def test_a_refund_in_the_payments_own_currency_is_not_taken_for_the_approved_one(world: World) -> None:
    with payments({"rules": []}, world.clock) as provider:
        world.providers["stripe"] = provider.provider()
        # Recorded in EUR; the charge is in JPY, and no request says which of them is meant.
        world.order(provider="stripe", payment="ch_10000jpy_1")
        action = world.approve()
        answer = world.run(action)
        assert (answer.status, answer.reason) == ("unknown", "another_refund_made")
        assert world.reconcile() == ["cannot_tell"]
    assert world.rows() == []
