"""The envelope: what is refused, that nothing received leaks into the refusal, and how a chain of events grows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from functions.events.envelope import Envelope, MalformedEvent


def first() -> Envelope:
    return Envelope.new(
        "prospect.submitted",
        {"row_number": 7},
        correlation_id="u-1",
        causation_id="u-1#1",
        source_agent="intake@1",
        clock=lambda: 1_796_000_000.25,
    )


def test_what_is_sent_can_be_read_back_from_json() -> None:
    envelope = first()
    assert Envelope.parse(json.loads(json.dumps(envelope.to_detail()))) == envelope


def test_a_first_event_names_its_sender_and_has_no_hops() -> None:
    envelope = first()
    assert (envelope.hops, envelope.lineage, envelope.schema_version) == (0, ("intake",), 1)
    assert envelope.occurred_at == "2026-11-30T00:53:20.250Z"
    assert envelope.event_id.startswith("evt_")
    assert len(envelope.event_id) == len("evt_") + 26


def test_a_caused_event_keeps_the_correlation_and_adds_a_hop_and_its_sender() -> None:
    parent = first()
    child = parent.child("prospect.classified", {}, source_agent="classify@2")
    assert child.correlation_id == parent.correlation_id
    assert child.causation_id == parent.event_id
    assert (child.hops, child.lineage) == (1, ("intake", "classify"))
    assert child.event_id != parent.event_id


def test_an_envelope_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        first().hops = 3  # type: ignore[misc]


@pytest.mark.parametrize("detail", [None, "text", 3, ["a"], b"{}"])
def test_something_that_is_no_object_is_refused(detail: object) -> None:
    with pytest.raises(MalformedEvent) as caught:
        Envelope.parse(detail)
    assert caught.value.reason == "not_an_object"


@pytest.mark.parametrize("version", [0, 2, "1", None, 1.5, 1.0, True])
def test_another_schema_version_is_refused_as_such(version: object) -> None:
    with pytest.raises(MalformedEvent) as caught:
        Envelope.parse({**first().to_detail(), "schema_version": version})
    assert caught.value.reason == "unsupported_schema_version"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("event_id", "canary-1234"),
        ("event_id", "evt_01ARZ3NDEKTSV4RRFFQ69G5FAU"),
        ("type", "canary"),
        ("occurred_at", "canary yesterday"),
        ("correlation_id", ""),
        ("correlation_id", "canary" * 30),
        ("causation_id", 3),
        ("source_agent", "canary"),
        ("hops", -1),
        ("hops", "0"),
        ("hops", 1.0),
        ("hops", True),
        ("lineage", "canary"),
        ("lineage", ["ok", "CANARY"]),
        ("lineage", [1]),
        ("data", ["canary"]),
        ("data", None),
    ],
)
def test_a_wrong_field_is_named_and_its_value_is_not(field: str, value: object) -> None:
    with pytest.raises(MalformedEvent) as caught:
        Envelope.parse({**first().to_detail(), field: value})
    assert "01ARZ3" not in str(caught.value)
    assert (caught.value.reason, caught.value.fields) == ("invalid_fields", (field,))
    assert "canary" not in str(caught.value).lower()
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_foreign_field_is_refused_without_repeating_its_name() -> None:
    with pytest.raises(MalformedEvent) as caught:
        Envelope.parse({**first().to_detail(), "canary@example.com": 1})
    assert caught.value.fields == ("unknown field",)


@pytest.mark.parametrize("field", sorted(set(Envelope.model_fields) - {"causation_id"}))
def test_a_missing_field_is_named(field: str) -> None:
    detail = first().to_detail()
    del detail[field]
    with pytest.raises(MalformedEvent) as caught:
        Envelope.parse(detail)
    assert caught.value.fields == (field,)


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(Envelope.model_fields)) | st.text(max_size=5), _json, max_size=9))
def test_any_object_is_an_envelope_or_malformed_and_nothing_else_happens(detail: dict[str, Any]) -> None:
    reason = ""
    try:
        Envelope.parse({**first().to_detail(), **detail})
    except MalformedEvent as malformed:
        reason = malformed.reason
    assert reason in ("", "unsupported_schema_version", "invalid_fields")
