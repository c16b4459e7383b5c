"""Rows that fail for good, and messages that are no row to classify: where each ends, and that it is said once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from functions.uploads.keys import record_id
from tests.unit.classify_world import (
    MAX_RECEIVES,
    TASK,
    UPLOAD,
    Aws,
    World,
    aws_on_moto,
    event,
    fields,
    refused,
    said,
)

OTHER_UPLOAD = "u-ffffffffffffffffffffffff"


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    with aws_on_moto() as opened:
        yield opened


@pytest.fixture
def world(aws: Aws) -> World:
    return World(aws)


def throttled(*_: Any, **__: Any) -> Any:
    raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "canary"}}, "PutItem")


# --- final failures ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "reason", "paid"),
    [
        (said("hot or warm"), "invalid_label", True),
        (said("hot", stop_reason="max_tokens"), "llm_truncated", True),
        (said("", stop_reason="refusal"), "llm_refused", True),
        (refused(400), "llm_bad_request", False),
    ],
)
def test_a_final_failure_is_dead_lettered_once_and_then_has_its_item(
    world: World, reply: Any, reason: str, paid: bool
) -> None:
    world.reply = lambda request: reply
    body = json.dumps(event())
    results = [world.deliver(body)[0] for _ in range(3)]
    assert [result.ending for result in results] == ["failed", "repeated", "repeated"]
    assert all(result.acknowledged for result in results)
    row = world.row()
    assert row is not None
    assert (row.outcome, row.reason, row.paid, row.retryable, row.cost_microusd > 0) == (
        "failed", reason, paid, False, paid,
    )  # fmt: skip
    assert world.dead_letters() == [(body, {"reason": reason, "upload_id": UPLOAD, "row_number": "1"})]
    assert len(world.requests) == 1


def test_one_rows_failure_is_its_own(world: World) -> None:
    world.reply = lambda request: refused(400) if "Bob" in request["messages"][0]["content"] else said()
    results = world.deliver(*(event(n, fields("Bob" if n == 4 else f"P{n}")) for n in range(1, 11)))
    assert [result.ending for result in results] == ["classified"] * 3 + ["failed"] + ["classified"] * 6


def test_a_dead_letter_that_cannot_be_sent_leaves_the_row_open(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.reply = lambda request: refused(400)
    with monkeypatch.context() as patched:
        patched.setattr(world.queues, "dead_letter", throttled)
        [result] = world.deliver(event())
    assert (result.ending, result.acknowledged, world.row()) == ("error", False, None)
    [result] = world.deliver(event(), receives=2)
    assert result.ending == "failed"
    assert len(world.dead_letters()) == 1


def test_a_key_stored_with_another_payload_is_a_final_failure(world: World) -> None:
    world.idempotency.put_item(
        Item={"id": record_id(TASK.name, TASK.key(fields())), "state": "RELEASED", "attempt": 1, "payload_hash": "x"}
    )
    for receives in (1, MAX_RECEIVES):
        [result] = world.deliver(event(), receives=receives)
        assert result.acknowledged
    assert world.row().reason == "key_conflict"  # type: ignore[union-attr]
    assert [attributes["reason"] for _, attributes in world.dead_letters()] == ["key_conflict"]
    assert world.requests == []


@pytest.mark.parametrize(
    "body",
    [
        event(key="0" * 64),
        event(fields={"email": "eve@example.com", "name": "Ada"}),
        event(fields={"owner": "nothing that is rendered"}),
    ],
)
def test_a_key_that_is_not_the_fields_own_is_a_final_failure_without_a_claim(
    world: World, body: dict[str, Any]
) -> None:
    [result] = world.deliver(body)
    assert (result.ending, result.acknowledged, result.reason) == ("failed", True, "key_mismatch")
    assert world.row().reason == "key_mismatch"  # type: ignore[union-attr]
    assert [attributes["reason"] for _, attributes in world.dead_letters()] == ["key_mismatch"]
    assert (world.requests, world.record()) == ([], None)


# --- what is no row to classify ------------------------------------------------------------------------------------


def changed(path: str, value: Any) -> dict[str, Any]:
    body = event()
    *way, name = path.split("/")
    inner: Any = body
    for step in way:
        inner = inner[step]
    inner[name] = value
    return body


@pytest.mark.parametrize(
    "body",
    [
        "",
        "hello",
        "[]",
        "null",
        "{}",
        "[" * 100_000,
        changed("detail-type", "prospect.deleted"),
        changed("detail", None),
        changed("detail/type", "prospect.deleted"),
        changed("detail/schema_version", 2),
        changed("detail/correlation_id", OTHER_UPLOAD),
        changed("detail/data/row_number", "1"),
        changed("detail/data/row_number", 0),
        changed("detail/data/row_number", 101),
        changed("detail/data/key", "short"),
        changed("detail/data/fields", {"email": None}),
        changed("detail/data/more", 1),
    ],
)
def test_a_malformed_event_goes_to_the_dead_letter_queue_at_once(world: World, body: dict[str, Any] | str) -> None:
    text = (body if isinstance(body, str) else json.dumps(body)) or " "
    [result] = world.deliver(text)
    assert (result.ending, result.acknowledged, result.reason) == ("malformed", True, "malformed_event")
    assert world.dead_letters() == [(text, {"reason": "malformed_event"})]
    assert world.requests == []


def test_a_malformed_event_that_cannot_be_dead_lettered_comes_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.queues, "dead_letter", throttled)
    results = world.deliver("hello", event())
    assert [(result.ending, result.acknowledged) for result in results] == [("error", False), ("classified", True)]


@pytest.mark.parametrize("state", ["paused", "needs_approval", "done"])
def test_only_a_running_upload_is_classified(world: World, state: str) -> None:
    world.put_upload(state=state)
    [result] = world.deliver(event())
    assert (result.ending, result.acknowledged, result.reason) == ("stopped", True, "budget_closed")
    assert (world.requests, world.record(), world.row(), world.dead_letters()) == ([], None, None, [])


def test_an_event_of_no_upload_is_a_dead_letter_at_once(world: World) -> None:
    [result] = world.deliver(event(upload_id=OTHER_UPLOAD))
    assert (result.ending, result.acknowledged, result.reason) == ("malformed", True, "unknown_upload")
    assert world.requests == []
    assert [attributes["reason"] for _, attributes in world.dead_letters()] == ["unknown_upload"]


@pytest.mark.parametrize(
    "changed",
    [{"line": 10**39}, {"row_number": 10**9}, {"fields": {"email": "a@example.com", "name": "\ud800"}}],
    ids=["endless-line", "endless-number", "half-a-character"],
)
def test_what_could_not_be_kept_is_a_dead_letter_before_it_is_paid(world: World, changed: dict[str, Any]) -> None:
    [result] = world.deliver(event(**changed))
    assert (result.ending, result.acknowledged) == ("malformed", True)
    assert world.requests == []


def test_a_number_without_end_is_a_dead_letter(world: World) -> None:
    [result] = world.deliver('{"detail-type": "prospect.submitted", "x": ' + "9" * 5_000 + "}")
    assert (result.ending, result.acknowledged) == ("malformed", True)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (changed("detail/lineage", ["intake", "classify", "finish"]), "self_trigger"),
        (changed("detail/hops", 5), "hop_limit"),
    ],
)
def test_a_guard_stops_an_event_without_a_claim(world: World, body: dict[str, Any], reason: str) -> None:
    [result] = world.deliver(body)
    assert (result.ending, result.acknowledged, result.reason) == ("stopped", True, reason)
    assert (world.requests, world.record(), world.dead_letters()) == ([], None, [])


def test_an_upload_is_read_once_a_batch(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []
    real = world.uploads.get_upload

    def counting(upload_id: str, *, consistent: bool = True) -> Any:
        assert consistent
        reads.append(upload_id)
        return real(upload_id, consistent=consistent)

    monkeypatch.setattr(world.uploads, "get_upload", counting)
    world.deliver(*(event(number, fields(f"P{number}")) for number in range(1, 6)))
    assert reads == [UPLOAD]
