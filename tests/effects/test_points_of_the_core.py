"""The crash points that no way of an upload comes by undisturbed: late answers, operators' proofs, parts that broke."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from functions.crash_points import Killed, armed, kill_at
from functions.effects.errors import MoveRefusedError
from functions.effects.outcomes import Outcome
from functions.effects.states import State
from functions.finish.storage import put_results
from tests.effects.account import Account, on_moto

from .conftest import MovableClock
from .world import COLD, HOT, Bench

MOVES = ("order_attempt", "prove_happened", "prove_absent", "prove_one_absent")
CROSSINGS = (*(f"effects.{move}" for move in MOVES), "effects.release_in_doubt", "effects.count_late_answer")
ABORT = "finish.results_abort"
KILLED = [f"{crossing}.{side}" for crossing in (*CROSSINGS, ABORT) for side in ("before", "after")]
SIDES = ("before", "after")


@pytest.fixture
def bench(table: Any, clock: MovableClock) -> Bench:
    return Bench(table, clock, max_paid_attempts=2)


def in_doubt(bench: Bench, times: int = 1) -> None:
    for _ in range(times):
        bench.call(lambda: Outcome.unknown("llm_timeout"))


def order(bench: Bench) -> None:
    bench.resolver.order_attempt(bench.read(), actor="ada", reason="r")


def happened(bench: Bench) -> None:
    bench.resolver.prove_happened(bench.read(), actor="ada", reason="r", outcome=COLD)


def absent(bench: Bench) -> None:
    bench.resolver.prove_absent(bench.read(), actor="ada", reason="r")


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(
    ("move", "doubts", "decide", "state", "paid"),
    [
        ("prove_happened", 1, happened, State.DONE, 1),
        ("prove_absent", 1, absent, State.RELEASED, 0),
        ("prove_one_absent", 2, absent, State.UNKNOWN, 1),
    ],
)
def test_a_proof_that_was_cut_off_counts_once(
    bench: Bench, side: str, *, move: str, doubts: int, decide: Callable[[Bench], None], state: State, paid: int
) -> None:
    in_doubt(bench, doubts)
    with armed(kill_at(f"effects.{move}.{side}")), pytest.raises(Killed):
        decide(bench)
    if side == "before":
        decide(bench)
    record = bench.read()
    assert (record.state, record.paid_attempts, len(record.resolutions)) == (state, paid, 1)
    assert bench.requests == doubts


def test_a_proof_of_what_is_proven_is_refused(bench: Bench) -> None:
    in_doubt(bench)
    with armed(kill_at("effects.prove_happened.after")), pytest.raises(Killed):
        happened(bench)
    with pytest.raises(MoveRefusedError):
        happened(bench)
    assert bench.read().reply == COLD


@pytest.mark.parametrize("side", SIDES)
def test_an_order_that_was_cut_off_allows_what_was_written(bench: Bench, side: str) -> None:
    in_doubt(bench, 2)
    with armed(kill_at(f"effects.order_attempt.{side}")), pytest.raises(Killed):
        order(bench)
    assert bench.read().ordered_attempts == (side == "after")
    bench.call()
    assert bench.requests == (3 if side == "after" else 2)


@pytest.mark.parametrize("side", SIDES)
def test_a_release_that_was_cut_off_takes_no_doubt_away(bench: Bench, side: str) -> None:
    in_doubt(bench)
    with armed(kill_at(f"effects.release_in_doubt.{side}")), pytest.raises(Killed):
        bench.call(lambda: Outcome.released("llm_overloaded"))
    bench.clock.pass_(66)
    record = bench.call(lambda: HOT).record
    # Killed before, the attempt itself is in doubt, and with it both that are allowed.
    assert record is not None
    assert (record.state, record.paid_attempts) == ((State.DONE, 2) if side == "after" else (State.UNKNOWN, 2))
    assert bench.requests == (3 if side == "after" else 2)


@pytest.mark.parametrize("side", SIDES)
def test_a_late_answer_that_is_cut_off_overwrites_nothing(bench: Bench, side: str) -> None:
    def overtaken() -> Outcome:
        bench.clock.pass_(66)
        bench.call(lambda: COLD)
        return HOT

    with armed(kill_at(f"effects.count_late_answer.{side}")), pytest.raises(Killed):
        bench.call(overtaken)
    assert (bench.read().reply, bench.read().late_answers) == (COLD, int(side == "after"))


@pytest.mark.parametrize("side", SIDES)
def test_results_whose_removal_is_cut_off_are_written_whole_the_next_time(side: str) -> None:
    def breaking() -> Iterator[bytes]:
        yield b"x" * 2_000
        raise ValueError("broken")

    with on_moto():
        account = Account()
        with armed(kill_at(f"{ABORT}.{side}")), pytest.raises(Killed):
            put_results(account.s3, account.bucket, "results/x.csv", breaking(), {})
        # S3 removes such parts after some days by the bucket's rule.
        assert account.unfinished_parts() == (side == "before")
        put_results(account.s3, account.bucket, "results/x.csv", [b"y" * 2_000], {})
        assert account.get_object("results/x.csv")[0] == b"y" * 2_000
