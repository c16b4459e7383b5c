"""What an answer, or the lack of one, means for money: every line of the rule, and everything that no line names."""

from __future__ import annotations

import json
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.classify.billing import (
    MAX_RETRY_AFTER_S,
    PAUSES,
    Answer,
    ApiError,
    Cause,
    NoAnswer,
    anthropic_error,
    bedrock_error,
    retry_after_s,
    verdict_of,
)

NOW = 1_800_000_000.0


def theirs(status: int, code: str = "", message: str = "no") -> Answer:
    return Answer(status, b"", error=ApiError("some_error", code, message))


@pytest.mark.parametrize(
    ("status", "kind", "reason", "pauses"),
    [
        (200, "read", "", False),
        (400, "failed", "llm_bad_request", False),
        (413, "failed", "llm_bad_request", False),
        (422, "failed", "llm_bad_request", False),
        (401, "released", "llm_key_refused", True),
        (402, "released", "llm_billing_refused", True),
        (403, "released", "llm_permission_denied", True),
        (404, "released", "llm_model_not_found", True),
        (429, "released", "llm_rate_limited", False),
        (503, "released", "llm_unavailable", False),
        (529, "released", "llm_overloaded", False),
    ],
)
def test_the_providers_own_errors(status: int, kind: str, reason: str, pauses: bool) -> None:
    verdict = verdict_of(theirs(status))
    assert (verdict.kind, verdict.reason, verdict.pauses) == (kind, reason, pauses)
    assert (reason in PAUSES) == pauses


@pytest.mark.parametrize("status", [201, 204, 301, 307, 408, 409, 412, 431, 499, 500, 501, 502, 504, 520])
def test_every_other_status_may_have_been_billed(status: int) -> None:
    assert verdict_of(theirs(status)).reason == "llm_error_outcome_unknown"


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413, 422, 429, 500, 503, 529])
def test_a_body_that_is_not_theirs_may_have_been_billed(status: int) -> None:
    verdict = verdict_of(Answer(status, b"<html>gateway</html>"))
    assert (verdict.kind, verdict.reason) == ("unknown", "llm_error_outcome_unknown")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (theirs(429, "enforced_spend_limit_reached"), "llm_spend_limit"),
        (theirs(429, "contract_spend_limit_reached"), "llm_spend_limit"),
        (theirs(400, "", "You have reached your specified API usage limits."), "llm_usage_limit"),
        (theirs(400, "", "Your credit balance is too low to access the API"), "llm_billing_refused"),
        (theirs(400, "organization_on_hold"), "llm_account_refused"),
        (theirs(400, "ServiceQuotaExceededException"), "llm_usage_limit"),
    ],
)
def test_a_limit_of_the_account_is_not_the_rows_fault(answer: Answer, reason: str) -> None:
    verdict = verdict_of(answer)
    assert (verdict.kind, verdict.reason, verdict.pauses) == ("released", reason, True)


def test_a_ramp_limit_is_an_ordinary_rate_limit() -> None:
    assert verdict_of(theirs(429, "ramp_limit_exceeded")).reason == "llm_rate_limited"


def test_an_error_that_says_its_outcome_is_unknown_is_believed() -> None:
    assert verdict_of(theirs(503, "change_outcome_unknown")).kind == "unknown"


@pytest.mark.parametrize(
    ("cause", "kind", "reason"),
    [
        ("out_of_time", "released", "out_of_time"),
        ("not_connected", "released", "llm_connect_failed"),
        ("timed_out", "unknown", "llm_timeout_outcome_unknown"),
        ("connection_lost", "unknown", "llm_connection_lost_outcome_unknown"),
        ("other", "unknown", "llm_error_outcome_unknown"),
    ],
)
def test_no_answer(cause: Cause, kind: str, reason: str) -> None:
    verdict = verdict_of(NoAnswer(cause))
    assert (verdict.kind, verdict.reason, verdict.pauses) == (kind, reason, False)


def test_anthropics_error_body_is_known_by_its_shape() -> None:
    details = {"error_code": "enforced_spend_limit_reached"}
    raw = {
        "type": "error",
        "error": {"type": "rate_limit_error", "message": "m", "details": details},
        "request_id": "r",
    }
    assert anthropic_error(json.dumps(raw).encode()) == ApiError(
        "rate_limit_error", "enforced_spend_limit_reached", "m"
    )


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"Too Many Requests",
        b"<html>429</html>",
        b"[]",
        b'"error"',
        b'{"error":{"type":"rate_limit_error","message":"m"}}',
        b'{"type":"error"}',
        b'{"type":"error","error":"rate_limit_error"}',
        b'{"type":"error","error":{"type":"rate_limit_error"}}',
        b'{"type":"error","error":{"message":"m"}}',
        b'{"type":"error","error":{"type":"","message":"m"}}',
        b'{"type":"error","error":{"type":"rate_limit_error","message":null}}',
        b'{"type":"message","type":"error","error":{"type":"rate_limit_error","message":"m"}}',
        b'{"type":"error","error":{"type":"rate_limit_error","message":"m"}',
        b'{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}',
        b'{"message":"Too Many Requests"}',
    ],
)
def test_any_other_body_is_not_anthropics(raw: bytes) -> None:
    assert anthropic_error(raw) is None


def test_a_code_that_is_no_text_is_no_code() -> None:
    raw = b'{"type":"error","error":{"type":"t","message":"m","details":{"error_code":7}}}'
    assert anthropic_error(raw) == ApiError("t", "", "m")


def test_bedrocks_error_is_known_by_its_header_and_body() -> None:
    error = bedrock_error(b'{"message":"slow down"}', "ThrottlingException:http://internal.amazon.com/coral")
    assert error == ApiError("ThrottlingException", "ThrottlingException", "slow down")
    assert bedrock_error(b'{"message":"slow down"}', "") is None
    assert bedrock_error(b"<html/>", "ThrottlingException") is None


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        ("30", 30.0),
        ("1.5", 1.5),
        (" 7 ", 7.0),
        ("-5", 0.0),
        ("86400", MAX_RETRY_AFTER_S),
        (formatdate(NOW + 90, usegmt=True), 90.0),
        (formatdate(NOW - 90, usegmt=True), 0.0),
        (formatdate(NOW + 10**6, usegmt=True), MAX_RETRY_AFTER_S),
        ("nan", None),
        ("inf", None),
        ("soon", None),
        ("", None),
        ("Fri, 99 Foo 2027 00:00:00 GMT", None),
    ],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header, NOW) == seconds


@given(st.text())
def test_no_header_breaks_the_reader_or_waits_for_ever(header: str) -> None:
    seconds = retry_after_s(header, NOW)
    assert seconds is None or 0 <= seconds <= MAX_RETRY_AFTER_S
