"""What each answer of Stripe's means for money."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.refunds.providers.stripe_answers import Answer, Cause, reply_of


def answer(status: int, body: Any, **more: str) -> Answer:
    return Answer(status, body if isinstance(body, bytes) else json.dumps(body).encode(), **more)


def error(status: int, kind: str = "invalid_request_error", code: str | None = None) -> Answer:
    return answer(status, {"error": {"type": kind, "message": "m", "code": code}})


@pytest.mark.parametrize(
    ("given_", "kind", "reason"),
    [
        (answer(200, {"id": "re_1", "status": "succeeded"}), "succeeded", ""),
        (answer(201, {"id": "re_1", "status": "pending"}), "succeeded", ""),
        (answer(200, {"id": "re_1", "status": "requires_action"}), "succeeded", ""),
        (answer(200, {"id": "re_1", "status": "failed"}), "failed", "refund_failed"),
        (answer(200, {"id": "re_1", "status": "canceled"}), "failed", "refund_canceled"),
        (answer(200, {"id": "re_1", "status": "a new one"}), "unknown", "provider_error_outcome_unknown"),
        (answer(200, {"status": "succeeded"}), "unknown", "provider_error_outcome_unknown"),
        (answer(200, b"<html>"), "unknown", "provider_error_outcome_unknown"),
        (answer(200, []), "unknown", "provider_error_outcome_unknown"),
        (error(400, code="charge_already_refunded"), "failed", "provider_refused_charge_already_refunded"),
        (error(400, code="Not A Code"), "failed", "provider_refused"),
        (error(402, "card_error"), "failed", "provider_refused"),
        (error(404, code="resource_missing"), "failed", "provider_refused_resource_missing"),
        (error(400, "idempotency_error"), "failed", "key_reused_at_provider"),
        (error(409, "idempotency_error", "idempotency_key_in_use"), "unknown", "provider_busy_with_this_key"),
        (error(401), "released", "provider_key_refused"),
        (error(403), "released", "provider_permission_denied"),
        (error(429, code="lock_timeout"), "released", "provider_rate_limited"),
        (error(500, "api_error"), "unknown", "provider_error_outcome_unknown"),
        (error(503, "api_error"), "unknown", "provider_error_outcome_unknown"),
        (answer(400, b"Bad Request"), "unknown", "provider_error_outcome_unknown"),
        (answer(429, {"message": "a proxy's"}), "unknown", "provider_error_outcome_unknown"),
        (answer(302, b""), "unknown", "provider_error_outcome_unknown"),
    ],
)
def test_an_answer(given_: Answer, kind: str, reason: str) -> None:
    reply = reply_of(given_)
    assert (reply.kind, reply.reason) == (kind, reason)


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        ("out_of_time", "released"),
        ("not_connected", "released"),
        ("timed_out", "unknown"),
        ("connection_lost", "unknown"),
        ("other", "unknown"),
    ],
)
def test_no_answer(cause: Cause, kind: str) -> None:
    assert reply_of(cause).kind == kind


def test_a_key_executed_with_other_parameters_keeps_its_money_committed() -> None:
    assert reply_of(error(400, "idempotency_error")).paid
    assert not reply_of(error(400)).paid


@pytest.mark.parametrize(("header", "wait"), [("7", 7.0), ("", None), ("soon", None), ("-1", None), ("1.5", None)])
def test_a_wait_is_taken_only_where_it_is_whole_seconds(header: str, wait: float | None) -> None:
    limited = Answer(429, error(429).body, retry_after=header)
    assert reply_of(limited).retry_after_s == wait


@given(status=st.integers(100, 599), body=st.binary(max_size=60))
def test_whatever_comes_is_one_of_four_and_only_a_refund_object_is_a_refund(status: int, body: bytes) -> None:
    reply = reply_of(Answer(status, body))
    assert reply.kind == "unknown"
    assert reply.refund_id == ""
