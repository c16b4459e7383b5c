"""A model that refuses the account pauses the upload, once, and no row is lost, given up or paid twice for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from botocore.exceptions import ClientError

from functions.classify.results import Result
from functions.crash_points import Killed, armed, kill_at
from functions.effects.states import State
from tests.unit.classify_world import (
    MAX_RECEIVES,
    UPLOAD,
    Aws,
    World,
    aws_on_moto,
    event,
    fields,
    refused,
    said,
    someone_elses_claim,
)

OTHER_UPLOAD = "u-ffffffffffffffffffffffff"
WRONG_KEY = refused(401)


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    with aws_on_moto() as opened:
        yield opened


@pytest.fixture
def world(aws: Aws) -> World:
    made = World(aws)
    made.reply = lambda request: WRONG_KEY
    return made


def rows(numbers: range) -> list[dict[str, Any]]:
    return [event(number, fields(f"P{number}")) for number in numbers]


def when(point: str, act: Callable[[], object]) -> Callable[[str], None]:
    """A hook that acts once, when the point is reached first."""
    left = [act]

    def hook(reached: str) -> None:
        if reached == point and left:
            left.pop()()

    return hook


def ends(results: list[Result]) -> list[tuple[str, bool]]:
    return [(result.ending, result.acknowledged) for result in results]


def test_ten_rows_in_parallel_pause_their_upload_once_and_wait_for_it(world: World) -> None:
    written: list[bool] = []
    real = world.uploads.pause

    def pause(upload: Any, reason: str) -> bool:
        written.append(real(upload, reason))
        return written[-1]

    world.uploads.pause = pause  # type: ignore[method-assign]
    results = world.deliver(*rows(range(1, 11)))
    assert ends(results) == [("held", True)] * 10
    assert written == [True]
    assert {(result.reason, result.pauses) for result in results} == {("llm_key_refused", True)}
    assert (world.upload().state, world.upload().pause_reason) == ("paused", "llm_key_refused")
    assert world.told() == ["paused-0"]
    assert (world.dead_letters(), world.queues.came_back, world.billed) == ([], [], 0)
    for number in range(1, 11):
        assert world.row(number) is None
        assert world.record(fields(f"P{number}")).state is State.RELEASED  # type: ignore[union-attr]


def test_what_was_answered_in_the_same_batch_keeps_its_answer(world: World) -> None:
    world.reply = lambda request: said() if "P2" in request["messages"][0]["content"] else WRONG_KEY
    results = world.deliver(*rows(range(1, 4)))
    assert ends(results) == [("held", True), ("classified", True), ("held", True)]
    assert world.row(2).label == "hot"  # type: ignore[union-attr]
    assert world.upload().state == "paused"


def test_messages_that_come_while_it_is_paused_go_without_a_claim(world: World) -> None:
    world.deliver(event())
    [result] = world.deliver(event(2, fields("Bob")), receives=MAX_RECEIVES)
    assert (result.ending, result.acknowledged) == ("stopped", True)
    assert (len(world.requests), world.record(fields("Bob"))) == (1, None)


def test_on_the_last_receive_a_row_is_not_given_up_for_the_accounts_fault(world: World) -> None:
    [result] = world.deliver(event(), receives=MAX_RECEIVES)
    assert (result.ending, result.acknowledged) == ("held", True)
    assert world.record().state is State.RELEASED  # type: ignore[union-attr]
    assert (world.row(), world.dead_letters(), world.upload().state) == (None, [], "paused")


def test_a_batch_that_finds_the_upload_paused_by_another_lets_its_rows_wait_too(world: World) -> None:
    with armed(when("uploads.pause.before", lambda: world.uploads.pause(world.upload(), "llm_billing_refused"))):
        [result] = world.deliver(event())
    assert (result.ending, result.acknowledged) == ("held", True)
    assert world.upload().pause_reason == "llm_billing_refused"
    assert world.told() == ["paused-0"]


def paused_and_resumed(world: World) -> None:
    world.uploads.pause(world.upload(), "llm_key_refused")
    world.resume()


def test_a_refusal_older_than_the_resumption_pauses_nothing_and_the_row_comes_again(world: World) -> None:
    with armed(when("uploads.pause.before", lambda: paused_and_resumed(world))):
        [result] = world.deliver(event())
    assert (result.ending, result.acknowledged, result.pauses) == ("retry", False, True)
    assert world.upload().state == "running"
    world.reply = lambda request: said()
    [again] = world.deliver(event(), receives=2)
    assert again.ending == "classified"


def test_on_the_last_receive_a_refusal_older_than_the_resumption_goes_on_as_a_copy(world: World) -> None:
    with armed(when("uploads.pause.before", lambda: paused_and_resumed(world))):
        [result] = world.deliver(event(), receives=MAX_RECEIVES)
    assert (result.ending, result.acknowledged) == ("copied", True)
    assert sum(world.waiting().values()) == 1
    assert (world.row(), world.dead_letters()) == (None, [])
    assert world.record().state is State.RELEASED  # type: ignore[union-attr]


@pytest.mark.parametrize("point", ["uploads.pause.before", "uploads.pause.after", "effects.release.after"])
@pytest.mark.parametrize("receives", [1, MAX_RECEIVES - 1])
def test_killed_around_the_pause_the_redelivery_pauses(world: World, point: str, receives: int) -> None:
    with armed(kill_at(point)), pytest.raises(Killed):
        world.deliver(event(), receives=receives)
    [result] = world.deliver(event(), receives=receives + 1)
    assert result.acknowledged
    assert result.ending in ("held", "stopped")
    assert world.upload().state == "paused"
    assert world.told() == ["paused-0"]
    assert (world.row(), world.dead_letters(), world.billed) == (None, [], 0)


def test_after_the_resumption_each_row_is_asked_once_whatever_is_still_in_the_queue(world: World) -> None:
    world.deliver(*rows(range(1, 4)))
    world.reply = lambda request: said()
    world.requests.clear()
    world.resume()
    # What the resumption publishes, and an old message of each row that was never acknowledged.
    results = world.deliver(*rows(range(1, 4)), *rows(range(1, 4)))
    results += world.deliver(*rows(range(1, 4)), receives=2)
    assert [result.ending for result in results].count("classified") == 3
    assert len(world.requests) == world.billed == 3
    assert world.uploads.count_rows(UPLOAD) == 3
    assert world.record(fields("P1")).paid_attempts == 1  # type: ignore[union-attr]


def test_a_second_wrong_key_pauses_again_with_a_notice_of_its_own(world: World) -> None:
    world.deliver(event())
    world.resume()
    [result] = world.deliver(event())
    assert (result.ending, world.upload().state, world.told()) == ("held", "paused", ["paused-1"])


def test_a_pause_that_cannot_be_written_leaves_the_rows_to_the_queue(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def throttled(upload: Any, reason: str) -> bool:
        calls.append(reason)
        raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "canary"}}, "TransactWriteItems")

    monkeypatch.setattr(world.uploads, "pause", throttled)
    results = world.deliver(*rows(range(1, 4)))
    assert ends(results) == [("error", False)] * 3
    assert len(calls) == 1, "a table that is throttled is not asked by every row"
    assert [result.error["code"] for result in results if result.error] == ["ThrottlingException"] * 3


def test_a_key_shared_by_two_uploads_pauses_both(world: World) -> None:
    world.put_upload(upload_id=OTHER_UPLOAD)
    results = world.deliver(event(), event(upload_id=OTHER_UPLOAD))
    assert ends(results) == [("held", True)] * 2
    assert sorted(world.told()) == ["paused-0", "paused-0"]
    assert len(world.requests) == 1


def test_a_row_somebody_else_is_asking_for_is_left_to_them(world: World) -> None:
    someone_elses_claim(world, lease_s=50)
    [mine, other] = world.deliver(event(), event(2, fields("Bob")))
    assert (mine.ending, mine.acknowledged) == ("in_progress", False)
    assert other.ending == "held"


def test_what_does_not_refuse_the_account_pauses_nothing(world: World) -> None:
    replies: Mapping[str, Any] = {"P1": refused(529), "P2": refused(429), "P3": refused(400), "P4": refused(500)}
    world.reply = lambda request: next(r for name, r in replies.items() if name in request["messages"][0]["content"])
    results = world.deliver(*rows(range(1, 5)))
    assert not any(result.pauses for result in results)
    assert (world.upload().state, world.told()) == ("running", [])
