"""Which model version produced an answer, from which input, when, in how many attempts: and never what stood in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from functions.classify.billing import NoAnswer
from functions.classify.effect_item import input_digest
from functions.effects.resolve import Resolver
from functions.effects.table import EffectTable
from functions.operate.audit import Audit, AuditedRow, Decision, audit_key, audit_row
from functions.operate.errors import NoSuchRow, UnknownKey, UnknownUpload
from functions.uploads.model import Upload
from tests.unit.classify_world import said
from tests.unit.intake_world import HEADER, csv
from tests.unit.operate_world import OVERLOADED, Service, by_person, service

FIELDS = {"email": "p1@example.com", "name": "Person 1", "company": "Firm 1"}


@pytest.fixture
def w() -> Iterator[Service]:
    with service() as made:
        yield made


def row_of(w: Service, upload: Upload, number: int) -> Audit:
    return audit_row(w.table, w.effects, w.open_source, upload.upload_id, number)


def test_an_answer_tells_its_model_input_time_and_attempts(w: Service) -> None:
    replies: list[Any] = [OVERLOADED, said()]
    w.reply = lambda request: replies.pop(0)
    upload = w.done(csv(1))
    told = row_of(w, upload, 1)
    [item] = w.rows(upload.upload_id)
    now = "2026-11-30T00:53:20Z"
    assert told == Audit(
        key=item.key,
        state="DONE",
        outcome="succeeded",
        label="hot",
        paid=True,
        model="claude-haiku-5-5",
        prompt_version=upload.prompt_version,
        request_id="req_1",
        input_digest=input_digest(FIELDS),
        http_status=200,
        stop_reason="end_turn",
        attempts=2,
        paid_attempts=1,
        claimed_at=now,
        finished_at=now,
        requested_by=f"{upload.upload_id}/1",
        usage={"input_tokens": 1_000, "output_tokens": 10},
        cost_microusd=item.cost_microusd,
        row=AuditedRow(upload.upload_id, 1, 2, "classified", known=False),
    )
    assert audit_key(w.effects, item.key) == Audit(**{**vars(told), "row": None})


def test_it_is_json_and_holds_nothing_of_the_row(w: Service) -> None:
    upload = w.done(csv(1))
    text = json.dumps(row_of(w, upload, 1).to_json())
    assert json.loads(text)["row"] == {
        "upload_id": upload.upload_id, "row": 1, "line": 2, "outcome": "classified", "known": False,
    }  # fmt: skip
    assert not any(value in text for value in FIELDS.values())


def test_a_doubt_tells_what_it_may_have_cost_and_what_an_operator_decided(w: Service) -> None:
    w.reply = lambda request: NoAnswer("timed_out")
    upload = w.done(csv(1))
    Resolver(EffectTable(w.idempotency), retention_days=1, clock=w.clock).order_attempt(
        w.record(upload, 1), actor="ada", reason="the provider has no trace of it"
    )
    told = row_of(w, upload, 1)
    assert (told.state, told.outcome, told.reason) == ("UNKNOWN", "unknown", "llm_timeout_outcome_unknown")
    assert told.at_most_microusd == upload.worst_case_microusd
    assert (told.paid_attempts, told.ordered_attempts) == (1, 1)
    assert told.decisions == (
        Decision("order another attempt", "ada", "the provider has no trace of it", "2026-11-30T00:53:20Z"),
    )


def test_a_row_answered_by_another_ones_request_names_that_one(w: Service) -> None:
    first = w.done(csv(1))
    second = w.submit(csv(1, header="E-Mail,Name,Company\n"), "uploads/again.csv")
    told = row_of(w, second, 1)
    assert told.requested_by == f"{first.upload_id}/1"
    assert told.row == AuditedRow(second.upload_id, 1, 2, "classified", known=True)


def test_a_row_that_is_open_is_found_through_its_file(w: Service) -> None:
    upload = w.submit(csv(2))
    told = row_of(w, upload, 2)
    assert (told.state, told.outcome, told.attempts) == ("ABSENT", "", 0)
    assert told.row == AuditedRow(upload.upload_id, 2, 3)
    w.reply = by_person({"2": OVERLOADED})
    w.worker.handle([], w.now)
    w.classify()
    assert row_of(w, upload, 2).reason == "llm_overloaded"


def test_a_row_that_failed_without_a_record_tells_what_its_item_holds(w: Service) -> None:
    event = w.put(b"email,name,company\na@example.com,Ann,\nb@example.com,Bob,B\n")
    w.deliver(event, w.deployed(rendered_columns=("company",)))
    told = row_of(w, w.upload_of(event), 1)
    assert (told.state, told.outcome, told.reason, told.paid) == ("ABSENT", "failed", "nothing_to_classify", False)


@pytest.mark.parametrize(
    ("number", "why"),
    [
        (2, r"it was rejected \(invalid_email\)"),
        (3, "it is blank"),
        (4, "it repeats row 1, which has one"),
        (5, "the file has 4 records"),
    ],
)
def test_a_record_without_an_answer_of_its_own_says_why(w: Service, number: int, why: str) -> None:
    upload = w.submit((HEADER + "a@example.com,Ann,A\nno-address,B,B\n,,\na@example.com,Ann,A\n").encode())
    with pytest.raises(NoSuchRow, match=f"^Row {number} of the upload {upload.upload_id} has no answer .*: {why}\\.$"):
        row_of(w, upload, number)


def test_an_unknown_upload_or_key_is_refused_and_what_is_no_key_is_not_repeated(w: Service) -> None:
    with pytest.raises(UnknownUpload):
        audit_row(w.table, w.effects, w.open_source, "u-0", 1)
    with pytest.raises(UnknownKey, match=f"^Nothing is stored under the key {'0' * 64};"):
        audit_key(w.effects, "0" * 64)
    with pytest.raises(UnknownKey) as refusal:
        audit_key(w.effects, "ann@example.com")
    assert "ann" not in str(refusal.value)
