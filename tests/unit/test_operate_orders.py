"""Approving and resuming: the order is carried out once, or refused in a sentence with nothing changed.

A wrong key is followed from its first refusal to the last label, through intake, classify and the operator's order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from functions.crash_points import Killed, armed, kill_at
from functions.operate.approve import Plan, approve, find, plan
from functions.operate.errors import NotPaused, NotWaiting, OperateError, UnknownUpload
from functions.operate.resume import Resumed, resume
from functions.uploads.budget import budget_day
from functions.uploads.model import Counts, Upload
from tests.unit.classify_world import said
from tests.unit.intake_world import csv
from tests.unit.operate_world import WRONG_KEY, Service, by_person, service


@pytest.fixture
def w() -> Iterator[Service]:
    with service() as made:
        yield made


def waiting(w: Service, body: bytes) -> Upload:
    event = w.put(body)
    w.deliver(event, w.deployed(max_upload_microusd=1))
    return w.upload_of(event)


# --- approve -------------------------------------------------------------------------------------------------------


def test_the_plan_tells_the_price_and_what_is_answered_already(w: Service) -> None:
    w.done(csv(3))
    upload = waiting(w, csv(5, header="E-Mail,Name,Company\n"))
    told = plan(find(w.table, upload.upload_id))
    assert told == Plan(
        upload_id=upload.upload_id,
        state="needs_approval",
        counts=Counts(records=5, valid=5, known=3),
        known=3,
        to_ask=2,
        worst_case_microusd=upload.worst_case_microusd,
    )
    assert upload.worst_case_microusd > 0


def test_an_approved_upload_runs_to_its_end_within_its_reservation(w: Service) -> None:
    upload = waiting(w, csv(3))
    w.publish()
    assert w.bus.calls == 0
    assert approve(w.table, upload.upload_id, actor="ada", clock=w.clock) == plan(upload)
    assert w.table.get_budget(budget_day(w.now)).committed_microusd == upload.worst_case_microusd
    w.publish()
    w.classify()
    done = w.finish(upload.upload_id)
    assert done.rows.classified == 3
    budget = w.table.get_budget(budget_day(w.now))
    assert budget.committed_microusd == budget.spent_microusd == done.rows.cost_microusd > 0


def test_what_is_approved_is_approved_once(w: Service) -> None:
    upload = waiting(w, csv(3))
    approve(w.table, upload.upload_id, actor="ada", clock=w.clock)
    before = w.everything()
    with pytest.raises(NotWaiting, match=f"The upload {upload.upload_id} is running; only one that waits for approval"):
        approve(w.table, upload.upload_id, actor="bob", clock=w.clock)
    assert w.everything() == before


def test_of_two_operators_at_once_one_approves(w: Service) -> None:
    upload = waiting(w, csv(3))

    def bob() -> None:
        approve(w.table, upload.upload_id, actor="bob", clock=w.clock)

    with armed(once("uploads.approve.before", bob)), pytest.raises(NotWaiting, match="is running"):
        approve(w.table, upload.upload_id, actor="ada", clock=w.clock)
    assert w.table.get_budget(budget_day(w.now)).committed_microusd == upload.worst_case_microusd


@pytest.mark.parametrize("point", ["uploads.approve.before", "uploads.approve.after"])
def test_an_approval_that_was_cut_off_was_given_or_not_and_is_reserved_once(w: Service, point: str) -> None:
    upload = waiting(w, csv(3))
    with armed(kill_at(point)), pytest.raises(Killed):
        approve(w.table, upload.upload_id, actor="ada", clock=w.clock)
    if point.endswith("before"):
        approve(w.table, upload.upload_id, actor="ada", clock=w.clock)
    w.publish()
    assert w.bus.rows == [1, 2, 3]
    assert w.table.get_budget(budget_day(w.now)).committed_microusd == upload.worst_case_microusd


# --- resume --------------------------------------------------------------------------------------------------------


def test_a_wrong_key_then_a_right_one_every_row_has_its_label_and_is_paid_for_once(w: Service) -> None:
    w.reply = by_person({"1": said(), "2": said()}, otherwise=WRONG_KEY)
    upload = w.submit(csv(25))
    endings = [result.ending for result in w.classify()]
    assert set(endings) == {"classified", "held", "stopped"}
    assert endings.count("classified") == 2
    paused = w.upload(upload.upload_id)
    assert (paused.state, paused.pause_reason) == ("paused", "llm_key_refused")
    [told] = [each.announcement for each in w.table.open_uploads()]
    assert told is not None
    assert (told.kind, told.serial) == ("paused", "paused-0")
    asked_while_wrong = len(w.asked)
    assert asked_while_wrong <= 10, "one batch meets the refusal, the others are stopped"
    assert (w.billed, w.queues.dead) == (2, [])
    w.reply = by_person({})
    sent = len(w.bus.sent)
    assert resume(w.table, upload.upload_id, actor="ada", clock=w.clock) == Resumed(
        upload.upload_id, "llm_key_refused", paused.paused_at
    )
    w.publish()
    assert len(w.bus.sent) == sent + 23, "what is answered is not published again"
    w.classify()
    assert len(w.asked) == asked_while_wrong + 23
    done = w.finish(upload.upload_id)
    assert (done.rows.classified, done.rows.failed, done.rows.unknown, w.billed) == (25, 0, 0, 25)
    assert {w.record(upload, row).paid_attempts for row in range(1, 26)} == {1}
    assert w.queues.dead == []
    budget = w.table.get_budget(budget_day(done.created_at))
    assert budget.committed_microusd == done.rows.cost_microusd


def test_paused_while_it_was_still_being_published_it_is_published_from_the_start(w: Service) -> None:
    event = w.put(csv(250))
    w.deliver(event, remaining_s=0)
    upload = w.upload_of(event)
    w.reply = lambda request: WRONG_KEY
    w.classify()
    w.now += 902
    w.publish()
    assert (w.upload(upload.upload_id).state, w.bus.calls) == ("paused", 1)
    w.reply = by_person({})
    resume(w.table, upload.upload_id, actor="ada", clock=w.clock)
    w.publish()
    w.classify()
    assert w.finish(upload.upload_id).rows.classified == 250
    assert w.billed == 250


def test_still_the_wrong_key_it_is_paused_again_and_told_again(w: Service) -> None:
    w.reply = lambda request: WRONG_KEY
    upload = w.submit(csv(3))
    for times in (0, 1):
        w.classify()
        [opened] = w.table.open_uploads()
        assert opened.announcement is not None
        assert (w.upload(upload.upload_id).state, opened.announcement.serial) == ("paused", f"paused-{times}")
        resume(w.table, upload.upload_id, actor="ada", clock=w.clock)
        w.publish()
    assert (w.billed, w.queues.dead, w.rows(upload.upload_id)) == (0, [], [])


@pytest.mark.parametrize("point", ["uploads.resume.before", "uploads.resume.after"])
def test_a_resumption_that_was_cut_off_was_ordered_or_not(w: Service, point: str) -> None:
    w.reply = lambda request: WRONG_KEY
    upload = w.submit(csv(3))
    w.classify()
    with armed(kill_at(point)), pytest.raises(Killed):
        resume(w.table, upload.upload_id, actor="ada", clock=w.clock)
    if point.endswith("before"):
        resume(w.table, upload.upload_id, actor="ada", clock=w.clock)
    w.reply = by_person({})
    w.publish()
    w.classify()
    assert (w.finish(upload.upload_id).rows.classified, w.billed) == (3, 3)


def test_only_what_is_paused_is_resumed(w: Service) -> None:
    upload = w.submit(csv(1))
    before = w.everything()
    with pytest.raises(NotPaused, match=f"The upload {upload.upload_id} is running; only one that is paused can be"):
        resume(w.table, upload.upload_id, actor="ada", clock=w.clock)
    assert w.everything() == before


@pytest.mark.parametrize("order", [approve, resume])
def test_an_unknown_upload_is_named_and_nothing_changes(w: Service, order: Callable[..., Any]) -> None:
    before = w.everything()
    with pytest.raises(UnknownUpload, match=r"^There is no upload u-0 here; check its id, the Region and the acc"):
        order(w.table, "u-0", actor="ada")
    assert w.everything() == before


def test_each_refusal_is_one_sentence() -> None:
    refusals: list[OperateError] = [UnknownUpload("u-0")]
    refusals += [kind("u-0", state) for kind in (NotWaiting, NotPaused) for state in ("running", "done", "odd")]
    assert all(str(one).endswith(".") and str(one).count(". ") == 0 for one in refusals)


def once(point: str, act: Callable[[], object]) -> Callable[[str], None]:
    left = [act]

    def hook(reached: str) -> None:
        if reached == point and left:
            left.pop()()

    return hook
