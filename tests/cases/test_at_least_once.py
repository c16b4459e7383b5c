"""The cases about deliveries, retries and money, by kind: whatever comes twice or late is paid and stored once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from functions.classify.claude import AnthropicProvider, Claude
from functions.crash_points import Killed, armed, kill_at
from functions.effects.states import State
from tests.cases.test_prompt_injection import Key
from tests.unit.classify_server import ModelServer, answer, message, say_nothing
from tests.unit.classify_world import (
    INVOCATION_S,
    MAX_RECEIVES,
    Aws,
    World,
    aws_on_moto,
    event,
    fields,
    refused,
    said,
)
from tests.unit.intake_world import client_error


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    with aws_on_moto() as opened:
        yield opened


@pytest.fixture
def world(aws: Aws) -> World:
    return World(aws)


def label(world: World, row_number: int = 1) -> str:
    row = world.row(row_number)
    return "open" if row is None else row.label or row.reason


# --- the model -----------------------------------------------------------------------------------------------------


def test_llm_overload_a_short_one_ends_in_a_label_and_a_lasting_one_as_retryable(world: World) -> None:
    overloads = [refused(529), refused(529)]

    def reply(request: Mapping[str, Any]) -> Any:
        short = "Ada" in request["messages"][0]["content"]
        return (overloads.pop() if overloads else said("warm")) if short else refused(529)

    world.reply = reply
    for receives in range(1, MAX_RECEIVES + 1):
        world.deliver(event(1), receives=receives)
        world.deliver(event(2, fields("Bob")), receives=receives)
    assert label(world, 1) == "warm"
    lasting = world.row(2)
    assert lasting is not None
    assert (lasting.outcome, lasting.reason, lasting.retryable, lasting.paid) == (
        "failed",
        "llm_overloaded",
        True,
        False,
    )


@pytest.mark.parametrize(
    ("behaviour", "deadline_s", "end"),
    [(answer(message()), 60.0, "hot"), (say_nothing, 0.5, "llm_timeout_outcome_unknown")],
    ids=["in-time", "too-late"],
)
def test_llm_double_billing_one_request_whether_its_answer_comes_in_time_or_not(
    world: World, behaviour: Any, deadline_s: float, end: str
) -> None:
    with ModelServer().running() as server:
        server.behaviour = behaviour
        claude = Claude(AnthropicProvider(Key(), server.url), deadline_s=deadline_s)  # type: ignore[arg-type]
        world.ask = claude.ask  # type: ignore[method-assign,assignment]
        world.worker = world._worker()
        for receives in range(1, MAX_RECEIVES + 1):
            world.deliver(event(), receives=receives)
        claude.close()
        assert (label(world), len(server.requests), server.connections) == (end, 1, 1)
    record = world.record()
    assert record is not None
    assert (record.attempt, record.paid_attempts) == (1, 1)


@pytest.mark.parametrize("score", ["0.87", "1", "0", "1e-7", "-0.0", "1e400"])
def test_number_serialization_a_score_beside_the_label_costs_nothing_that_was_paid(world: World, score: str) -> None:
    world.reply = lambda request: said('{"label":"hot","confidence":' + score + "}")
    [result] = world.deliver(event())
    assert (result.ending, label(world), len(world.requests)) == ("classified", "hot", 1)


# --- deliveries ----------------------------------------------------------------------------------------------------


def test_delivery_duplicates_two_at_once_and_one_later_are_one_request_and_one_result(world: World) -> None:
    beside: list[str] = []

    def while_another_comes(request: Mapping[str, Any]) -> Any:
        if not beside:
            beside.append("")
            beside[0] = world.deliver(event())[0].ending
        return said("warm")

    world.reply = while_another_comes
    world.deliver(event())
    assert (beside, label(world)) == (["in_progress"], "warm")
    row = world.row()
    world.reply = lambda request: said("cold")
    world.now += 300
    [third] = world.deliver(event(), receives=2)
    assert (third.ending, third.acknowledged, len(world.requests)) == ("repeated", True, 1)
    assert (world.row(), world.dead_letters()) == (row, [])


def test_replay_a_dead_letter_that_is_redriven_twice_pays_and_stores_nothing_more(world: World) -> None:
    world.reply = lambda request: said("perhaps")
    world.deliver(event())
    [(body, attributes)] = world.dead_letters()
    assert attributes["reason"] == "invalid_label"
    row = world.row()
    world.reply = lambda request: said("hot")
    redriven = [world.received(body) for _ in range(2)]
    assert len({one.message_id for one in redriven}) == 2, "a redriven message has another id"
    results = [world.hand_over([one])[0] for one in redriven]
    assert [(result.ending, result.acknowledged) for result in results] == [("repeated", True)] * 2
    assert (len(world.requests), world.row(), world.dead_letters()) == (1, row, [])


# --- what is stored ------------------------------------------------------------------------------------------------


def test_idempotency_inprogress_a_worker_that_dies_during_the_call_holds_its_row_for_no_longer_than_it_could_live(
    world: World,
) -> None:
    with armed(kill_at("classify.model.after")), pytest.raises(Killed):
        world.deliver(event())
    record = world.record()
    assert record is not None
    assert record.lease_until == world.now + INVOCATION_S + world.settings.lease_grace_s
    [early] = world.deliver(event(), receives=2)
    assert (early.ending, early.acknowledged) == ("in_progress", False)
    world.now = record.lease_until + 1
    [late] = world.deliver(event(), receives=2)
    assert (late.ending, late.acknowledged, label(world)) == ("unknown", True, "lease_expired_outcome_unknown")
    assert len(world.requests) == 1


def test_idempotency_key_rows_that_differ_in_one_shown_field_alone_have_answers_of_their_own(world: World) -> None:
    world.reply = lambda request: said(json.loads(request["messages"][0]["content"].split("\n")[1])["notes"])
    notes = ("hot", "warm", "cold")
    world.deliver(*(event(n, fields(notes=note)) for n, note in enumerate(notes, start=1)))
    assert [label(world, n) for n in (1, 2, 3)] == list(notes)
    assert len(world.idempotency.scan()["Items"]) == len(world.requests) == 3


def test_idempotency_record_deletion_an_error_behind_the_answer_deletes_nothing_and_the_answer_is_used(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_row: Any) -> bool:
        raise client_error("InternalServerError")

    world.reply = lambda request: said("warm")
    with monkeypatch.context() as patched:
        patched.setattr(world.uploads, "put_row", fails)
        [first] = world.deliver(event())
    assert (first.ending, first.acknowledged) == ("error", False)
    record = world.record()
    assert record is not None
    assert (record.state, record.reply.result["label"]) == (State.DONE, "warm")
    world.reply = lambda request: said("cold")
    world.deliver(event(), receives=2)
    assert (label(world), len(world.requests)) == ("warm", 1)
