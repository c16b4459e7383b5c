"""Rows without an outcome yet: when they come again, when they are given up, and when nobody knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from functions.api_key import KeyUnavailableError
from functions.classify.billing import NoAnswer
from functions.effects.states import State
from tests.unit.classify_world import (
    BASE_S,
    MAX_RECEIVES,
    UPLOAD,
    Aws,
    World,
    aws_on_moto,
    event,
    refused,
    said,
    someone_elses_claim,
)


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    with aws_on_moto() as opened:
        yield opened


@pytest.fixture
def world(aws: Aws) -> World:
    return World(aws)


@pytest.fixture
def generous_world(aws: Aws) -> World:
    """One more attempt that may be billed is allowed."""
    return World(aws, max_paid_attempts=2)


def throttled(*_: Any, **__: Any) -> Any:
    raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "canary"}}, "PutItem")


# --- another try ---------------------------------------------------------------------------------------------------


def test_overloaded_twice_then_a_label(world: World) -> None:
    world.replies = [refused(529), refused(529), said("warm")]
    results = [world.deliver(event(), receives=receives)[0] for receives in (1, 2, 3)]
    assert [result.ending for result in results] == ["retry", "retry", "classified"]
    assert [result.acknowledged for result in results] == [False, False, True]
    first, second = world.queues.came_back
    assert BASE_S / 2 <= first <= BASE_S
    assert BASE_S <= second <= 2 * BASE_S
    assert world.row().attempt == 3  # type: ignore[union-attr]
    assert world.record().paid_attempts == 1  # type: ignore[union-attr]


def test_overloaded_for_ever_is_given_up_as_retryable_and_left_to_the_redrive(world: World) -> None:
    world.reply = lambda request: refused(529)
    results = [world.deliver(event(), receives=receives)[0] for receives in range(1, MAX_RECEIVES + 1)]
    last = results[-1]
    assert (last.ending, last.acknowledged, last.reason) == ("given_up", False, "llm_overloaded")
    assert world.queues.came_back[-1] == 0
    row, record = world.row(), world.record()
    assert row is not None
    assert record is not None
    assert (row.outcome, row.reason, row.retryable, row.paid, row.cost_microusd) == (
        "failed", "llm_overloaded", True, False, 0,
    )  # fmt: skip
    assert (record.state, record.paid_attempts) == (State.DONE, 0)
    # The queue's own redrive takes it there; a copy of ours would be a second one.
    assert world.dead_letters() == []


def test_a_retry_after_sets_the_visibility(world: World) -> None:
    world.replies = [refused(429, retry_after_s=120.0)]
    [result] = world.deliver(event())
    assert (result.ending, result.reason) == ("retry", "llm_rate_limited")
    assert 120 <= world.queues.came_back[0] <= 120 + BASE_S + 1


def test_a_visibility_that_cannot_be_set_still_leaves_the_message_to_the_queue(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.replies = [refused(529)]
    monkeypatch.setattr(world.queues, "come_back", throttled)
    [result] = world.deliver(event())
    assert (result.ending, result.acknowledged) == ("retry", False)
    assert result.error is not None
    assert result.error["code"] == "ThrottlingException"


def test_a_key_given_up_by_one_row_ends_its_other_rows_too(world: World) -> None:
    world.reply = lambda request: refused(529)
    messages = [world.received(event(1), MAX_RECEIVES), world.received(event(2), 1)]
    results = world.hand_over(messages)
    assert [result.ending for result in results] == ["given_up", "retry"]
    [later] = world.deliver(event(2), receives=2)
    assert (later.ending, later.acknowledged) == ("failed", True)
    row = world.row(2)
    assert row is not None
    assert (row.reason, row.retryable, row.known) == ("llm_overloaded", True, True)
    [(_, attributes)] = world.dead_letters()
    assert attributes == {"reason": "llm_overloaded", "upload_id": UPLOAD, "row_number": "2"}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (refused(401), "llm_key_refused"),
        (refused(402), "llm_billing_refused"),
        (refused(403), "llm_permission_denied"),
        (refused(404), "llm_model_not_found"),
        (refused(429, "enforced_spend_limit_reached"), "llm_spend_limit"),
    ],
)
def test_what_is_not_the_rows_fault_pauses_its_upload(world: World, reply: Any, reason: str) -> None:
    world.reply = lambda request: reply
    [result] = world.deliver(event())
    assert (result.ending, result.reason, result.pauses, result.acknowledged) == ("held", reason, True, True)
    assert world.record().state is State.RELEASED  # type: ignore[union-attr]
    assert (world.row(), world.upload().state, world.upload().pause_reason) == (None, "paused", reason)


def test_without_a_key_nothing_is_sent_and_the_row_waits(world: World) -> None:
    world.key_missing = KeyUnavailableError("there is none")
    [result] = world.deliver(event())
    assert (result.ending, result.reason, result.pauses) == ("held", "llm_key_unavailable", True)
    assert world.record().state is State.RELEASED  # type: ignore[union-attr]
    assert (world.requests, world.upload().state) == ([], "paused")


def test_a_key_that_could_not_be_read_this_time_is_tried_again_and_wakes_nobody(world: World) -> None:
    world.key_missing = KeyUnavailableError("throttled", passing=True)
    [result] = world.deliver(event())
    assert (result.ending, result.reason, result.pauses) == ("retry", "llm_key_unread", False)
    world.key_missing = None
    [again] = world.deliver(event(), receives=2)
    assert (again.ending, world.upload().state) == ("classified", "running")


def test_too_late_in_the_invocation_nothing_is_sent(world: World) -> None:
    [message] = [world.received(event())]
    [result] = world.worker.handle([message], world.now + 21.9)
    assert (result.ending, result.reason) == ("retry", "out_of_time")
    assert world.requests == []
    [result] = world.worker.handle([message], world.now + 22.1)
    assert result.ending == "classified"


# --- somebody else's claim -----------------------------------------------------------------------------------------


def test_a_key_in_progress_comes_back_after_its_lease(world: World) -> None:
    someone_elses_claim(world, lease_s=50)
    [result] = world.deliver(event())
    assert (result.ending, result.acknowledged) == ("in_progress", False)
    assert 50 <= world.queues.came_back[0] <= 50 + BASE_S + 1
    assert (world.requests, world.row()) == ([], None)


def test_on_the_last_receive_a_key_in_progress_goes_on_as_a_copy(world: World) -> None:
    someone_elses_claim(world, lease_s=50)
    [result] = world.deliver(event(), receives=MAX_RECEIVES)
    assert (result.ending, result.acknowledged) == ("copied", True)
    assert world.waiting() == {"visible": 0, "delayed": 1}
    assert (world.requests, world.row(), world.dead_letters()) == ([], None, [])


def test_a_copy_that_cannot_be_sent_leaves_the_message_to_the_redrive(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone_elses_claim(world, lease_s=50)
    monkeypatch.setattr(world.queues, "send_again", throttled)
    [result] = world.deliver(event(), receives=MAX_RECEIVES)
    assert (result.ending, result.acknowledged) == ("error", False)


@pytest.mark.parametrize("receives", [1, MAX_RECEIVES])
def test_a_claim_whose_lease_is_over_is_unknown_and_is_not_asked_again(world: World, receives: int) -> None:
    someone_elses_claim(world, lease_s=-1)
    [result] = world.deliver(event(), receives=receives)
    assert (result.ending, result.acknowledged) == ("unknown", True)
    row = world.row()
    assert row is not None
    assert (row.outcome, row.reason, row.paid) == ("unknown", "lease_expired_outcome_unknown", True)
    assert world.requests == []
    assert world.dead_letters() == []


# --- unknown -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (NoAnswer("timed_out"), "llm_timeout_outcome_unknown"),
        (NoAnswer("connection_lost"), "llm_connection_lost_outcome_unknown"),
        (refused(500), "llm_error_outcome_unknown"),
    ],
)
def test_an_unknown_is_said_and_never_asked_again(world: World, reply: Any, reason: str) -> None:
    world.reply = lambda request: reply
    [first] = world.deliver(event())
    assert (first.ending, first.acknowledged, first.reason) == ("unknown", True, reason)
    [again] = world.deliver(event())
    assert again.ending == "repeated"
    assert len(world.requests) == 1
    assert world.dead_letters() == []
    assert world.record().reply.audit["at_most_microusd"] > 0  # type: ignore[union-attr]


def test_with_an_attempt_left_an_unknown_is_asked_once_more(generous_world: World) -> None:
    generous_world.replies = [NoAnswer("timed_out"), NoAnswer("timed_out")]
    results = [generous_world.deliver(event(), receives=receives)[0] for receives in (1, 2, 3)]
    assert [result.ending for result in results] == ["retry", "unknown", "repeated"]
    assert len(generous_world.requests) == 2


def test_with_an_attempt_left_the_last_receive_says_unknown(generous_world: World) -> None:
    generous_world.replies = [NoAnswer("timed_out")]
    [result] = generous_world.deliver(event(), receives=MAX_RECEIVES)
    assert (result.ending, result.acknowledged) == ("unknown", True)
    assert generous_world.row().outcome == "unknown"  # type: ignore[union-attr]


def test_a_defect_after_the_send_is_unknown(world: World) -> None:
    def fail(_: Any) -> Any:
        raise RuntimeError("canary")

    world.reply = fail
    [result] = world.deliver(event())
    assert (result.ending, result.acknowledged) == ("unknown", True)
    assert result.error == {"error": "RuntimeError", "at": result.error["at"]}  # type: ignore[index]
    assert world.row().outcome == "unknown"  # type: ignore[union-attr]
