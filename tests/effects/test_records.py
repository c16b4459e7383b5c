"""What each move leaves in the record and each call returns, attribute by attribute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyItemNotFoundError

from functions.crash_points import armed
from functions.effects.claims import LEASE_EXPIRED, Claims
from functions.effects.errors import MoveRefusedError, UnsettledClaimError
from functions.effects.outcomes import Outcome
from functions.effects.record import EffectRecord
from functions.effects.resolve import ORDERED_RERUN, PROVEN_ABSENT, Resolver
from functions.effects.run import Run
from functions.effects.states import State
from functions.effects.table import EffectTable, Refused

from .conftest import MovableClock
from .world import HOT, ITEM, Bench

NOW = 1_800_000_000
DAY = 86_400


@pytest.fixture
def bench(table: Any, clock: MovableClock) -> Bench:
    return Bench(table, clock)


def stored(table: Any) -> dict[str, Any]:
    item: dict[str, Any] = table.get_item(Key={"id": "t:k"})["Item"]
    return item


def claims(table: EffectTable, clock: MovableClock, retention_days: int | None = 400) -> Claims:
    return Claims(table, max_paid_attempts=1, retention_days=retention_days, clock=clock)


@pytest.mark.parametrize(
    ("make", "is_"),
    [
        (
            lambda: Outcome.succeeded({"label": "hot"}, request_id="req_1"),
            {"kind": "succeeded", "paid": True, "result": {"label": "hot"}, "audit": {"request_id": "req_1"}},
        ),
        (lambda: Outcome.failed("r", paid=True, model="m"), {"kind": "failed", "reason": "r", "paid": True}),
        (lambda: Outcome.failed("r", paid=False, retryable=True), {"kind": "failed", "paid": False, "retryable": True}),
        (
            lambda: Outcome.failed("r", paid=False, model="m"),
            {"retryable": False, "audit": {"model": "m"}, "result": {}},
        ),
        (
            lambda: Outcome.released("r", retry_after_s=2.1, a=1),
            {"kind": "released", "retry_after_s": 3, "audit": {"a": 1}},
        ),
        (lambda: Outcome.unknown("r", a=1), {"kind": "unknown", "reason": "r", "paid": True, "audit": {"a": 1}}),
    ],
)
def test_an_outcome_says_what_it_was_made_of(make: Callable[[], Outcome], is_: dict[str, Any]) -> None:
    dumped = make().model_dump()
    assert {name: dumped[name] for name in is_} == is_


@pytest.mark.parametrize("released_before", [False, True])
def test_what_was_given_up_is_a_whole_record(bench: Bench, table: Any, released_before: bool) -> None:
    if released_before:
        bench.call(lambda: Outcome.released("llm_overloaded"))
        bench.clock.pass_(DAY)
    bench.store.give_up("t:k", "h", "llm_overloaded", "u-2/5")
    later = DAY if released_before else 0
    item = stored(table)
    assert (item["state"], item["attempt"], item["paid_attempts"]) == ("DONE", int(released_before), 0)
    assert (item["origin"], item["payload_hash"]) == ("u-2/5", "h")
    assert (item["finished_at"], item["expiration"]) == (NOW + later, NOW + later + 400 * DAY)
    assert item["outcome"]["retryable"]


def test_giving_up_finds_what_came_between_its_look_and_its_write(bench: Bench, table: Any) -> None:
    bench.call()
    looked_before = EffectTable(table)
    looked_before.read = lambda _: None  # type: ignore[method-assign]
    assert claims(looked_before, bench.clock).give_up("t:k", "h", "llm_overloaded", "o") == bench.read()
    assert bench.read().reply == HOT


def test_a_claim_after_a_release_holds_nothing_of_the_attempt_before(bench: Bench, table: Any) -> None:
    bench.call(lambda: Outcome.released("llm_overloaded"))
    assert {"outcome", "finished_at"} <= set(stored(table))
    bench.clock.pass_(DAY)
    bench.die_at("effects.claim.after")
    item = stored(table)
    assert (item["state"], item["attempt"], item["claimed_at"]) == ("CLAIMED", 2, NOW + DAY)
    assert not {"outcome", "finished_at"} & set(item)


def test_a_duplicate_at_the_very_end_of_a_lease_is_told_to_come_back(bench: Bench) -> None:
    bench.die_at("effects.claim.after")
    bench.clock.pass_(65)
    assert bench.in_progress().lease_until == bench.clock()


def test_a_record_that_vanishes_under_a_claim_is_claimed_anew(bench: Bench, table: Any) -> None:
    bench.die_at("effects.claim.after")
    bench.clock.pass_(66)

    class Vanishing(EffectTable):
        def apply(self, seen: EffectRecord, *_: Any, **__: Any) -> Refused:
            table.delete_item(Key={"id": seen.id})
            return Refused(None)

    reached: list[str] = []
    run = Run(deadline=bench.clock() + 60, origin="u-3/1")
    with armed(reached.append):
        claimed = claims(Vanishing(table), bench.clock).claim("t:k", "h", run)
    assert claimed.record == bench.read()
    assert (claimed.record.owner, claimed.record.attempt, claimed.record.origin) == (run.owner, 1, "u-3/1")
    assert reached == ["effects.claim.before", "effects.claim.before", "effects.claim.after"]


def test_without_a_retention_nothing_expires(table: Any, clock: MovableClock) -> None:
    claims(EffectTable(table), clock, retention_days=None).give_up("t:k", "h", "llm_overloaded", "o")
    assert "expiration" not in stored(table)


@pytest.mark.parametrize(("after", "state"), [(64.999, State.CLAIMED), (65, State.CLAIMED), (65.001, State.UNKNOWN)])
def test_a_lease_is_over_when_its_end_has_passed(bench: Bench, table: Any, after: float, state: State) -> None:
    bench.die_at("effects.claim.after")
    record = bench.read()
    bench.clock.pass_(after)
    use_cases = claims(EffectTable(table), bench.clock)
    assert use_cases.give_up("t:k", "h", "r", "o").state is state
    settled = use_cases.settle_expired(record)
    assert settled is not None
    assert (settled.state, settled) == (state, bench.read())


@pytest.mark.parametrize(("after", "state"), [(65, State.CLAIMED), (65.001, State.UNKNOWN)])
def test_the_sweep_says_so_of_a_lease_that_is_over_alone(bench: Bench, table: Any, after: float, state: State) -> None:
    bench.die_at("effects.claim.after")
    bench.clock.pass_(after)
    settled = claims(EffectTable(table), bench.clock).settle_expired(bench.read())
    assert settled == bench.read()
    assert settled is not None
    assert (settled.state, settled.outcome) == (state, Outcome.unknown(LEASE_EXPIRED) if state == "UNKNOWN" else None)


def test_what_is_not_claimed_is_left_by_the_sweep_however_old_it_is(bench: Bench, table: Any) -> None:
    bench.call(lambda: Outcome.released("llm_overloaded"))
    bench.clock.pass_(DAY)
    assert claims(EffectTable(table), bench.clock).settle_expired(bench.read()) == bench.read()
    assert bench.read().state is State.RELEASED


def test_the_sweep_is_told_what_came_of_a_claim_that_it_saw_too_late(bench: Bench, table: Any) -> None:
    bench.die_at("effects.claim.after")
    old = bench.read()
    bench.clock.pass_(66)
    expired = claims(EffectTable(table), bench.clock).settle_expired(old)
    assert claims(EffectTable(table), bench.clock).settle_expired(old) == expired == bench.read()


CALLS: dict[str, Callable[[Claims], object]] = {
    "claim": lambda use_cases: use_cases.claim("t:k", "h", Run(deadline=NOW + 60)),
    "give up": lambda use_cases: use_cases.give_up("t:k", "h", "r", "o"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_record_that_moves_under_every_look_is_left_for_later(clock: MovableClock, call: str) -> None:
    moving = EffectRecord(id="t:k", state=State.RELEASED, attempt=1, payload_hash="h")

    class Moving(EffectTable):
        def __init__(self) -> None: ...
        def read(self, effect_id: str) -> EffectRecord | None:
            return moving

        def create(self, *_: Any) -> Refused:
            return Refused(moving)

        def apply(self, *_: Any, **__: Any) -> Refused:
            return Refused(moving)

    use_cases = claims(Moving(), clock)
    with pytest.raises(UnsettledClaimError, match=r"^the record was moved by others under every look at it$"):
        CALLS[call](use_cases)


@pytest.mark.parametrize(
    ("state", "paid", "known"),
    [
        (State.DONE, 0, True),
        (State.UNKNOWN, 1, True),
        (State.UNKNOWN, 0, False),
        (State.CLAIMED, 1, False),
        (State.RELEASED, 1, False),
    ],
)
def test_what_is_answered_from_the_store_without_a_request(state: State, paid: int, known: bool) -> None:
    record = EffectRecord(id="t:k", state=state, attempt=1, payload_hash="h", paid_attempts=paid)
    assert record.final_without_request(1) is known


# --- operators and proofs ---------------------------------------------------------------------------------------------


def test_each_order_leaves_its_count_and_its_reason(bench: Bench) -> None:
    bench.call(lambda: Outcome.unknown("llm_timeout"))
    assert bench.resolver.order_attempt(bench.read(), actor="ada", reason="r").ordered_attempts == 1
    absent = bench.resolver.prove_absent(bench.read(), actor="ada", reason="r")
    assert absent.outcome == Outcome.released(PROVEN_ABSENT)
    bench.store.give_up("t:k", "h", "llm_overloaded", "o")
    assert bench.resolver.rerun(bench.read(), actor="ada", reason="r").outcome == Outcome.released(ORDERED_RERUN)
    assert {each.at for each in bench.read().resolutions} == {NOW}


@pytest.mark.parametrize("retention_days", [None, 400])
def test_what_is_proven_ends_like_an_answer(bench: Bench, table: Any, retention_days: int | None) -> None:
    bench.call(lambda: Outcome.unknown("llm_timeout"))
    bench.clock.pass_(DAY)
    resolver = Resolver(EffectTable(table), retention_days=retention_days, clock=bench.clock)
    assert resolver.prove_happened(bench.read(), actor="ada", reason="r", outcome=HOT).reply == HOT
    assert stored(table)["finished_at"] == NOW + DAY
    assert stored(table).get("expiration") == (NOW + 401 * DAY if retention_days else None)


def test_a_refused_order_says_why(bench: Bench, table: Any, clock: MovableClock) -> None:
    bench.call()
    with pytest.raises(MoveRefusedError, match=r"^a record that is DONE cannot be moved by «prove that it happened»"):
        bench.resolver.prove_happened(bench.read(), actor="ada", reason="r")
    with pytest.raises(MoveRefusedError, match=r"^the record moved or does not allow this; look at it again, nothing"):
        bench.resolver.rerun(bench.read(), actor="ada", reason="r")


def test_an_order_whose_answer_was_lost_is_found_behind_what_others_did_since(
    bench: Bench, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.call(lambda: Outcome.unknown("llm_timeout"))
    real = table.meta.client.update_item

    def repeated_late(**request: Any) -> Any:
        real(**request)
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(table.meta.client, "update_item", real)
            bench.resolver.order_attempt(bench.read(), actor="bob", reason="r")
        return real(**request)

    monkeypatch.setattr(table.meta.client, "update_item", repeated_late)
    assert bench.resolver.order_attempt(bench.read(), actor="ada", reason="r").ordered_attempts == 2


# --- what Powertools is given, and where a test may kill --------------------------------------------------------------


def test_a_duplicate_is_returned_what_is_stored(bench: Bench) -> None:
    bench.call(lambda: HOT)
    bench.clock.pass_(1)
    record = bench.store.get_record(ITEM)
    assert (record.status, record.idempotency_key, record.payload_hash) == ("COMPLETED", "t:k", "h")
    assert record.response_json_as_dict() == HOT.model_dump()


def test_a_live_claim_is_in_progress_and_no_record_is_none(bench: Bench) -> None:
    with pytest.raises(IdempotencyItemNotFoundError):
        bench.store.get_record(ITEM)
    bench.die_at("effects.claim.after")
    record = bench.store.get_record(ITEM)
    assert (record.status, record.idempotency_key) == ("INPROGRESS", "t:k")


def test_every_call_stands_between_its_points(bench: Bench, table: Any) -> None:
    bench.call()
    reached: list[str] = []
    with armed(reached.append):
        EffectTable(table).count_late_answer("t:k")
        EffectTable(table).read_many(["t:k"])
    names = ["effects.count_late_answer", "effects.read", "effects.read_many"]
    assert reached == [f"{name}.{side}" for name in names for side in ("before", "after")]
    assert bench.read().late_answers == 1


def test_keys_that_the_table_had_no_time_for_are_asked_again_after_a_pause(bench: Bench, table: Any) -> None:
    bench.call()
    real, pauses = table.meta.client.batch_get_item, []

    class Busy:
        asked = 0

        def batch_get_item(self, RequestItems: Any) -> Any:  # noqa: N803 - boto3's name
            Busy.asked += 1
            return (
                {"Responses": {}, "UnprocessedKeys": RequestItems}
                if Busy.asked == 1
                else real(RequestItems=RequestItems)
            )

    busy = EffectTable(table, sleep=pauses.append)
    busy._client = Busy()
    assert set(busy.read_many(["t:k"])) == {"t:k"}
    assert len(pauses) == 1
