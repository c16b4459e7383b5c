"""A batch of rows in, each classified once, whatever is delivered twice and whatever fails for one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from functions.classify.results import failed_messages
from functions.effects.states import State
from tests.unit.classify_world import (
    INVOCATION_S,
    MAX_RECEIVES,
    TASK,
    UPLOAD,
    Aws,
    World,
    aws_on_moto,
    event,
    fields,
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


# --- the plain way -------------------------------------------------------------------------------------------------


def test_a_row_is_classified_and_its_item_written_from_the_record(world: World) -> None:
    [result] = world.deliver(event())
    assert (result.ending, result.acknowledged, result.cost_microusd) == ("classified", True, 105)
    row, record = world.row(), world.record()
    assert row is not None
    assert record is not None
    assert (row.outcome, row.label, row.reason, row.paid, row.known) == ("classified", "hot", "", True, False)
    assert (row.key, row.line, row.attempt, row.cost_microusd) == (TASK.key(fields()), 2, 1, 105)
    assert (row.model, row.request_id, row.prompt_version) == ("claude-haiku-5-5", "req_1", TASK.prompt_version)
    assert record.state is State.DONE
    assert record.origin == f"{UPLOAD}/1"
    assert record.reply.audit["input_digest"] == record.payload_hash
    assert failed_messages([result]) == {"batchItemFailures": []}
    assert world.dead_letters() == []


def test_a_classified_row_costs_three_writes_and_one_upload_read_a_batch(world: World) -> None:
    calls: Counter[str] = Counter()

    def count(model: Any, **_: Any) -> None:
        calls[model.name] += 1

    hooks = world.dynamodb.meta.client.meta.events
    hooks.register("before-call.dynamodb", count)
    world.deliver(*(event(n, fields(f"P{n}")) for n in range(1, 11)))
    hooks.unregister("before-call.dynamodb", count)
    assert calls == {"PutItem": 20, "UpdateItem": 10, "GetItem": 1}


def test_rows_of_a_batch_run_in_parallel_and_each_has_its_own_answer(world: World) -> None:
    world.reply = lambda request: said("cold" if "Bob" in request["messages"][0]["content"] else "hot")
    results = world.deliver(event(1), event(2, fields("Bob")), event(3, fields("Eve")))
    assert [result.ending for result in results] == ["classified"] * 3
    assert [world.row(number).label for number in (1, 2, 3)] == ["hot", "cold", "hot"]  # type: ignore[union-attr]
    assert len(world.requests) == 3


def test_the_stored_task_is_asked_not_the_deployed_one(world: World) -> None:
    old = TASK.model_copy(update={"max_tokens": 32})
    world.put_upload(task=old.to_json(), prompt_version=old.prompt_version)
    [result] = world.deliver(event(key=old.key(fields())))
    assert result.ending == "classified"
    assert world.requests[0]["max_tokens"] == 32
    assert world.row().prompt_version == old.prompt_version  # type: ignore[union-attr]


# --- duplicates ----------------------------------------------------------------------------------------------------


def test_three_deliveries_make_one_request_one_item_and_no_dead_letter(world: World) -> None:
    twice = [world.received(event()), world.received(event())]
    first = world.hand_over(twice)
    item = world.row()
    world.now += 300
    [third] = world.deliver(event())
    assert [result.ending for result in (*first, third)] == ["classified", "repeated", "repeated"]
    assert all(result.acknowledged for result in (*first, third))
    assert third.cost_microusd == 0
    assert len(world.requests) == 1
    assert world.row() == item
    assert world.dead_letters() == []


def test_a_key_twice_in_a_batch_is_asked_once_and_answers_both_rows(world: World) -> None:
    results = world.deliver(event(1), event(2))
    assert [result.ending for result in results] == ["classified", "classified"]
    assert [result.cost_microusd for result in results] == [105, 0]
    assert len(world.requests) == 1
    assert [world.row(number).known for number in (1, 2)] == [False, True]  # type: ignore[union-attr]
    assert world.row(2).label == "hot"  # type: ignore[union-attr]


def test_the_same_prospect_in_another_upload_is_answered_from_the_store(world: World) -> None:
    world.put_upload(upload_id=OTHER_UPLOAD)
    world.deliver(event())
    [result] = world.deliver(event(7, upload_id=OTHER_UPLOAD))
    assert (result.ending, result.cost_microusd) == ("classified", 0)
    assert world.row(7, OTHER_UPLOAD).known is True  # type: ignore[union-attr]
    assert len(world.requests) == 1


def test_rows_that_differ_in_one_field_have_answers_of_their_own(world: World) -> None:
    world.deliver(*(event(number, fields(notes=f"note {number}")) for number in (1, 2, 3)))
    assert len(world.requests) == 3


# --- faults of one row ---------------------------------------------------------------------------------------------


def test_a_fault_of_one_row_touches_no_other(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    real = world.uploads.put_row

    def throttle_row_2(row: Any) -> bool:
        return throttled() if row.row_number == 2 else real(row)

    with monkeypatch.context() as patched:
        patched.setattr(world.uploads, "put_row", throttle_row_2)
        results = world.deliver(event(1), event(2, fields("Bob")), event(3, fields("Eve")))
    assert [(result.ending, result.acknowledged) for result in results] == [
        ("classified", True), ("error", False), ("classified", True),
    ]  # fmt: skip
    assert results[1].error is not None
    assert results[1].error["code"] == "ThrottlingException"
    [again] = world.deliver(event(2, fields("Bob")), receives=2)
    # The label that was obtained is stored; nothing is paid again.
    assert again.ending == "classified"
    assert len(world.requests) == 3


def test_an_upload_that_cannot_be_read_leaves_its_rows_to_the_queue(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.uploads, "get_upload", throttled)
    results = world.deliver(event(1), event(2, fields("Bob")), "hello")
    assert [result.acknowledged for result in results] == [False, False, True]
    assert world.requests == []


def test_an_answer_that_could_not_be_stored_is_unknown_after_the_lease(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(world.store._claims, "settle", throttled)
        [first] = world.deliver(event())
        [last] = world.deliver(event(), receives=MAX_RECEIVES)
    assert (first.ending, first.acknowledged) == ("in_progress", False)
    assert (last.ending, last.acknowledged) == ("copied", True)
    world.now += INVOCATION_S + world.settings.lease_grace_s + 1
    [after] = world.deliver(event())
    assert (after.ending, after.acknowledged) == ("unknown", True)
    assert len(world.requests) == 1
