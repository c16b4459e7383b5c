"""Settling what is unknown: each decision reaches the record, the rows of every upload and their results, once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest

from functions.classify.billing import NoAnswer
from functions.classify.prices import worst_case_microusd
from functions.classify.task import Task
from functions.crash_points import Killed, armed, kill_at
from functions.effects.states import State
from functions.operate.errors import MovedOn, NothingUnknown, NotUnknown, UnknownKey
from functions.operate.resolve import Resolved
from functions.operate.resolve_plans import Decision
from functions.operate.resume import resume
from functions.uploads.budget import budget_day
from functions.uploads.model import Upload
from tests.unit.classify_world import said
from tests.unit.intake_world import csv
from tests.unit.operate_world import Service, by_person, order, service

LOST = NoAnswer("timed_out")
OTHER_HEADER = "E-Mail,Name,Company\n"
SIDES = ("before", "after")
CUTS: list[tuple[Decision, str]] = [
    *(("rerun", f"operate.{call}.{side}") for call in ("settle", "reopen_row", "reopen") for side in SIDES),
    *(("billed", f"operate.{call}.{side}") for call in ("settle", "look_up_now") for side in SIDES),
    ("not-billed", "operate.settle.after"),
    ("not-billed", "operate.reopen.before"),
]
DECISIONS: tuple[Decision, ...] = ("billed", "not-billed", "rerun")
ENDS: dict[Decision, tuple[str, str, str]] = {
    "billed": ("failed", "", "answer_lost"),
    "not-billed": ("classified", "hot", ""),
    "rerun": ("classified", "hot", ""),
}


@pytest.fixture
def w() -> Iterator[Service]:
    with service() as made:
        yield made


def resolve_all(w: Service, decision: Decision, upload: Upload, actor: str = "ada") -> Resolved:
    found = order(w)
    return found.carry_out(
        found.plans.plan_upload(decision, w.upload(upload.upload_id)), actor=actor, reason="usage read"
    )


def resolve_key(w: Service, decision: Decision, key: str) -> Resolved:
    found = order(w)
    return found.carry_out(found.plans.plan_key(decision, key), actor="ada", reason="usage read")


def lost(w: Service, *numbers: str) -> Upload:
    """A finished upload in which these people's requests got no answer; from now on everything is answered."""
    w.reply = by_person(dict.fromkeys(numbers or ("2",), LOST))
    upload = w.done(csv(3))
    w.ticks(1)
    w.reply = by_person({})
    w.asked.clear()
    return w.upload(upload.upload_id)


def worst_of(upload: Upload, row: int) -> int:
    fields = {"email": f"p{row}@example.com", "name": f"Person {row}", "company": f"Firm {row}"}
    return worst_case_microusd(Task.from_json(upload.task), fields)


def end_of(w: Service, upload: Upload, row: int) -> tuple[str, str, str]:
    item = w.table.get_row(upload.upload_id, row)
    assert item is not None
    return item.outcome, item.label, item.reason


def results(w: Service, upload: Upload) -> str:
    key = w.upload(upload.upload_id).results_key
    assert key is not None
    return str(w.s3.get_object(Bucket=upload.bucket, Key=key)["Body"].read().decode("utf-8-sig"))


@pytest.mark.parametrize("decision", DECISIONS)
def test_a_decision_reaches_the_record_the_row_and_the_results(w: Service, decision: Decision) -> None:
    upload = lost(w)
    assert (upload.rows.unknown, upload.revision) == (1, 1)
    done = resolve_all(w, decision, upload)
    asks = decision != "billed"
    price = worst_of(upload, 2)
    assert done == Resolved(upload.upload_id, decision, 1, 0, int(asks), price if asks else 0)
    record = w.record(upload, 2)
    assert [(one.actor, one.reason) for one in record.resolutions] == [("ada", "usage read")]
    w.ticks(2)
    assert end_of(w, upload, 2) == ENDS[decision]
    after = w.upload(upload.upload_id)
    assert (after.state, after.rows.unknown, after.revision, after.reserved_microusd) == ("done", 0, 2, 0)
    assert w.asked == (["p2"] if asks else [])
    assert results(w, upload).splitlines()[2].split(",")[3:5] == list(ENDS[decision][1:])
    # What was in doubt stays committed on its day, whatever was decided.
    committed = w.table.get_budget(budget_day(upload.created_at)).committed_microusd
    assert committed == after.rows.cost_microusd + upload.rows.in_doubt_microusd


def test_what_was_billed_keeps_its_audit_and_is_never_asked_again(w: Service) -> None:
    upload = lost(w)
    resolve_all(w, "billed", upload)
    record = w.record(upload, 2)
    assert (record.state, record.paid_attempts, record.reply.paid) == (State.DONE, 1, True)
    assert record.reply.audit["model"] == "claude-haiku-5-5"
    w.ticks(2)
    again = w.submit(csv(3, header=OTHER_HEADER), "uploads/again.csv")
    w.ticks(2)
    assert (w.upload(again.upload_id).rows.failed, w.asked) == (1, [])


def test_what_was_not_billed_counts_as_never_asked_and_a_rerun_as_a_second_attempt(w: Service) -> None:
    upload = lost(w, "1", "2")
    resolve_key(w, "not-billed", w.record(upload, 1).id.partition(":")[2])
    resolve_key(w, "rerun", w.record(upload, 2).id.partition(":")[2])
    w.ticks(2)
    assert [w.record(upload, row).paid_attempts for row in (1, 2)] == [1, 2]
    assert sorted(w.asked) == ["p1", "p2"]


def test_of_several_attempts_not_billed_says_that_none_was(w: Service) -> None:
    upload = lost(w)
    w.reply = by_person({"2": LOST})
    resolve_all(w, "rerun", upload)
    w.ticks(2)
    assert (end_of(w, upload, 2)[0], w.record(upload, 2).paid_attempts) == ("unknown", 2)
    w.reply = by_person({})
    plan = order(w).plans.plan_upload("not-billed", w.upload(upload.upload_id))
    assert plan.doubted_microusd == 2 * worst_of(upload, 2)
    resolve_all(w, "not-billed", upload)
    assert w.record(upload, 2).paid_attempts == 0
    w.ticks(2)
    assert end_of(w, upload, 2) == ENDS["not-billed"]


@pytest.mark.parametrize("decision", DECISIONS)
def test_rows_of_the_same_key_in_other_uploads_follow_without_a_request(w: Service, decision: Decision) -> None:
    first = lost(w)
    second = w.submit(csv(2, start=2, header=OTHER_HEADER), "uploads/second.csv")
    w.ticks(2)
    assert end_of(w, second, 1) == ("unknown", "", "llm_timeout_outcome_unknown")
    w.asked.clear()
    plan = order(w).plans.plan_key(decision, w.record(first, 2).id.partition(":")[2])
    assert (plan.upload.upload_id, plan.following) == (first.upload_id, 1), "the row that asked is asked again"
    resolve_all(w, decision, second)
    w.ticks(3)
    assert end_of(w, first, 2) == end_of(w, second, 1) == ENDS[decision]
    assert len(w.asked) == (decision != "billed")
    for upload in (first, second):
        assert (w.upload(upload.upload_id).state, w.upload(upload.upload_id).rows.unknown) == ("done", 0)


@pytest.mark.parametrize(("decision", "point"), CUTS)
def test_an_order_that_was_cut_off_is_given_again_and_orders_nothing_twice(
    w: Service, decision: Decision, point: str
) -> None:
    upload = lost(w, "2", "3")
    with armed(kill_at(point)), pytest.raises(Killed):
        resolve_all(w, decision, upload)
    w.ticks(1)
    with contextlib.suppress(NothingUnknown):
        resolve_all(w, decision, upload)
    w.ticks(2)
    assert end_of(w, upload, 2) == end_of(w, upload, 3) == ENDS[decision]
    assert sorted(w.asked) == (["p2", "p3"] if decision != "billed" else [])
    assert {len(w.record(upload, row).resolutions) for row in (2, 3)} == {1}
    after = w.upload(upload.upload_id)
    assert (after.state, after.rows.unknown, after.reserved_microusd) == ("done", 0, 0)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [("billed", "rerun"), ("billed", "not-billed"), ("rerun", "billed"), ("rerun", "rerun"), ("rerun", "not-billed")],
)
def test_of_two_operators_one_decides_and_the_other_is_told(w: Service, mine: Decision, theirs: Decision) -> None:
    upload = lost(w)
    found = order(w)
    plan = found.plans.plan_upload(mine, upload)
    resolve_all(w, theirs, upload, actor="bob")
    told = None
    try:
        found.carry_out(plan, actor="ada", reason="r")
    except MovedOn as moved:
        told = moved
    # Who ordered the same was not too late; nor who ordered a rerun of what is asked again anyway.
    assert (told is None) == (mine == theirs or (mine, theirs) == ("rerun", "not-billed"))
    assert [one.actor for one in w.record(upload, 2).resolutions] == ["bob"]
    w.ticks(2)
    assert end_of(w, upload, 2) == ENDS[theirs]
    assert len(w.asked) == (theirs != "billed")


def test_who_says_billed_of_what_another_has_asked_again_meanwhile_is_told(w: Service) -> None:
    upload = lost(w)
    with armed(kill_at("operate.reopen.before")), pytest.raises(Killed):
        resolve_all(w, "rerun", upload)
    found = order(w)
    plan = found.plans.plan_upload("billed", w.upload(upload.upload_id))
    resolve_all(w, "not-billed", upload, actor="bob")
    with pytest.raises(MovedOn):
        found.carry_out(plan, actor="ada", reason="r")
    w.ticks(2)
    assert end_of(w, upload, 2) == ENDS["not-billed"]


def test_two_operators_at_work_on_two_rows_of_one_upload_open_it_once_and_reserve_for_both(w: Service) -> None:
    upload = lost(w, "2", "3")
    found = order(w)
    others = [found.plans.plan_row("rerun", upload, 3)]

    def hook(reached: str) -> None:
        if reached == "operate.reopen.before" and others:
            found.carry_out(others.pop(), actor="bob", reason="r")

    with armed(hook):
        found.carry_out(found.plans.plan_row("rerun", upload, 2), actor="ada", reason="r")
    assert w.upload(upload.upload_id).reserved_microusd == worst_of(upload, 2) + worst_of(upload, 3)
    w.ticks(2)
    assert (end_of(w, upload, 2), end_of(w, upload, 3)) == (ENDS["rerun"], ENDS["rerun"])
    assert sorted(w.asked) == ["p2", "p3"]


def test_an_answer_that_comes_late_beats_the_decision(w: Service) -> None:
    upload = lost(w)
    found = order(w)
    plan = found.plans.plan_upload("rerun", upload)
    late = w.record(upload, 2).model_copy(update={"state": State.DONE, "outcome": w.record(upload, 1).outcome})
    w.idempotency.put_item(Item=late.model_dump(mode="json", exclude_none=True))
    with pytest.raises(MovedOn, match="was answered"):
        found.carry_out(plan, actor="ada", reason="r")
    w.ticks(2)
    assert (end_of(w, upload, 2), w.asked) == (("classified", "hot", ""), [])
    assert w.record(upload, 2).resolutions == ()


@pytest.mark.parametrize("state", ["running", "paused"])
def test_in_an_upload_that_is_not_done_the_row_is_asked_with_the_rest_and_reserved_for(w: Service, state: str) -> None:
    w.reply = by_person({"2": LOST})
    upload = w.submit(csv(3))
    w.classify()
    if state == "paused":
        assert w.table.pause(w.upload(upload.upload_id), "llm_key_refused")
    w.reply = by_person({})
    w.asked.clear()
    before = w.upload(upload.upload_id)
    resolve_all(w, "rerun", upload)
    after = w.upload(upload.upload_id)
    assert (after.state, after.reserved_microusd) == (state, before.reserved_microusd + worst_of(upload, 2))
    with pytest.raises(NothingUnknown):
        resolve_all(w, "rerun", upload)
    if state == "paused":
        w.ticks(2)
        assert w.asked == []
        resume(w.table, upload.upload_id, actor="ada", clock=w.clock)
    w.ticks(9)
    done = w.upload(upload.upload_id)
    assert (done.state, end_of(w, upload, 2), w.asked) == ("done", ENDS["rerun"], ["p2"])
    committed = w.table.get_budget(budget_day(upload.created_at)).committed_microusd
    assert committed == done.rows.cost_microusd + done.rows.in_doubt_microusd


def test_a_look_that_counted_before_the_order_does_not_finish_the_upload_without_it(w: Service) -> None:
    w.reply = by_person({"2": LOST})
    upload = w.submit(csv(3))
    w.classify()
    w.reply = by_person({})
    orders = ["rerun"]

    def hook(reached: str) -> None:
        if reached == "uploads.finish.before" and orders:
            orders.pop()
            resolve_all(w, "rerun", upload)

    with armed(hook):
        w.ticks(1)
    assert w.upload(upload.upload_id).state == "running"
    w.ticks(9)
    assert (w.upload(upload.upload_id).state, end_of(w, upload, 2)) == ("done", ENDS["rerun"])


def test_what_does_not_wait_for_a_decision_is_one_sentence_and_nothing_changes(w: Service) -> None:
    upload = lost(w)
    found = order(w)
    key = w.record(upload, 1).id.partition(":")[2]
    before = w.everything()
    refusals: list[Callable[[], object]] = [
        lambda: found.plans.plan_row("rerun", upload, 1),
        lambda: found.plans.plan_row("rerun", upload, 99),
        lambda: found.plans.plan_key("billed", key),
        lambda: found.plans.plan_key("billed", "0" * 64),
    ]
    for refusal in refusals:
        with pytest.raises((NotUnknown, UnknownKey)) as told:
            refusal()
        assert str(told.value).endswith(".")
        assert str(told.value).count(". ") == 0
    assert w.everything() == before
    none = w.done(csv(1, start=8))
    with pytest.raises(NothingUnknown, match="No row of the upload"):
        found.plans.plan_upload("rerun", none)


def test_many_rows_are_settled_beside_each_other_and_each_key_once(w: Service) -> None:
    w.reply = lambda request: LOST
    upload = w.done(csv(10))
    w.ticks(2)
    w.reply = lambda request: said()
    plan = order(w).plans.plan_upload("rerun", w.upload(upload.upload_id))
    assert (len(plan.rows), plan.worst_case_microusd) == (10, sum(worst_of(upload, row) for row in range(1, 11)))
    resolve_all(w, "rerun", upload)
    w.ticks(2)
    assert w.upload(upload.upload_id).rows.classified == 10
    assert w.billed == 20
