"""Retrying the failures of a finished upload: all that could end otherwise, once, and nothing that was paid."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from functions.classify.billing import NoAnswer
from functions.classify.prices import worst_case_microusd
from functions.classify.task import Task
from functions.crash_points import Killed, armed, kill_at
from functions.effects.states import State
from functions.operate.approve import approve
from functions.operate.errors import Contended, NotDone, NothingToRetry, TooOld, UnknownUpload
from functions.operate.resume import resume
from functions.operate.retry import Retried
from functions.uploads.budget import budget_day
from functions.uploads.keys import meta_address, open_address
from functions.uploads.model import Announcement, OpenUpload, Upload
from tests.unit.classify_world import refused, said
from tests.unit.intake_world import csv
from tests.unit.operate_world import OVERLOADED, Service, by_person, service

CALLS = ("effects.rerun", "uploads.reopen_row", "operate.reopen", "uploads.reopen")
POINTS = [f"{call}.{side}" for call in CALLS for side in ("before", "after")]


@pytest.fixture
def w() -> Iterator[Service]:
    with service() as made:
        yield made


def worst_of(upload: Upload, *rows: int) -> int:
    task = Task.from_json(upload.task)
    return sum(
        worst_case_microusd(
            task, {"email": f"p{row}@example.com", "name": f"Person {row}", "company": f"Firm {row}"}
        )
        for row in rows
    )  # fmt: skip


def two_overloaded(w: Service) -> Upload:
    w.reply = by_person({"2": OVERLOADED, "3": OVERLOADED})
    upload = w.done(csv(4))
    assert (upload.rows.classified, upload.rows.failed) == (2, 2)
    w.reply = by_person({})
    w.asked.clear()
    return upload


def ends(w: Service, upload: Upload) -> dict[int, str]:
    return {item.row_number: item.label or item.reason for item in w.rows(upload.upload_id)}


def test_the_rows_that_were_given_up_are_asked_again_and_no_others(w: Service) -> None:
    upload = two_overloaded(w)
    sent = len(w.bus.sent)
    retried = w.retry(upload.upload_id, actor="ada")
    assert retried == Retried(upload.upload_id, 2, 0, worst_of(upload, 2, 3))
    again = w.upload(upload.upload_id)
    assert (again.state, again.generation, again.reserved_microusd) == ("running", 2, retried.worst_case_microusd)
    assert w.table.count_rows(upload.upload_id) == 2
    w.publish()
    assert len(w.bus.sent) == sent + 2, "an event for each row that is open, and for none that has ended"
    w.classify()
    assert sorted(w.asked) == ["p2", "p3"]
    assert ends(w, upload) == dict.fromkeys(range(1, 5), "hot")
    finished = w.finish(upload.upload_id)
    assert (finished.rows.classified, finished.revision) == (4, 2)
    assert w.billed == 4
    assert w.table.get_budget(budget_day(w.now)).committed_microusd == finished.rows.cost_microusd


def test_who_ordered_it_is_kept_in_the_record(w: Service) -> None:
    upload = two_overloaded(w)
    w.retry(upload.upload_id, actor="ada")
    record = w.record(upload, 2)
    assert (record.state, record.paid_attempts) == (State.RELEASED, 0)
    assert [(one.event, one.actor) for one in record.resolutions] == [("rerun", "ada")]


@pytest.mark.parametrize("point", POINTS)
def test_an_order_that_was_cut_off_is_given_again_and_loses_and_doubles_nothing(w: Service, point: str) -> None:
    upload = two_overloaded(w)
    with armed(kill_at(point)), pytest.raises(Killed):
        w.retry(upload.upload_id, actor="ada")
    if point in {"uploads.reopen.after", "operate.reopen.after"}:
        with pytest.raises(NotDone):
            w.retry(upload.upload_id, actor="ada")
    else:
        assert w.upload(upload.upload_id).state == "done"
        assert w.retry(upload.upload_id, actor="ada") == Retried(upload.upload_id, 2, 0, worst_of(upload, 2, 3))
    w.publish()
    w.classify()
    assert sorted(w.asked) == ["p2", "p3"]
    assert w.finish(upload.upload_id).rows.classified == 4
    assert w.billed == 4


def test_two_operators_at_once_open_it_once_and_reserve_for_the_rows_of_both(w: Service) -> None:
    upload, came = two_overloaded(w), list[str]()

    def other(point: str) -> None:
        if point == "uploads.reopen_row.after" and not came:
            came.append("bob")
            assert w.retry(upload.upload_id, actor="bob").rows == 2

    with armed(other):
        assert w.retry(upload.upload_id, actor="ada").rows == 2
    again = w.upload(upload.upload_id)
    # Both found both rows, and too much is reserved until the upload ends.
    assert (again.state, again.reserved_microusd) == ("running", 2 * worst_of(upload, 2, 3))
    w.publish()
    w.classify()
    assert sorted(w.asked) == ["p2", "p3"]
    finished = w.finish(upload.upload_id)
    assert (finished.rows.classified, w.billed) == (4, 4)
    assert w.table.get_budget(budget_day(w.now)).committed_microusd == finished.rows.cost_microusd


def test_an_upload_that_another_order_opened_is_reserved_for_by_those_whose_rows_came_later(w: Service) -> None:
    upload = two_overloaded(w)

    def other(point: str) -> None:
        if point == "operate.reopen.before":
            w.table.reopen(upload, actor="bob", day="", reserve_microusd=0, publish=True)

    with armed(other):
        retried = w.retry(upload.upload_id, actor="ada")
    again = w.upload(upload.upload_id)
    assert (again.state, again.reserved_microusd) == ("running", retried.worst_case_microusd)
    w.publish()
    w.classify()
    assert (sorted(w.asked), w.finish(upload.upload_id).rows.classified) == (["p2", "p3"], 4)


def test_what_another_upload_had_answered_meanwhile_costs_nothing_and_has_no_event(w: Service) -> None:
    upload = two_overloaded(w)
    w.retry(upload.upload_id, actor="ada")
    w.publish()
    w.classify()
    w.finish(upload.upload_id)
    w.reply = by_person({"9": OVERLOADED})
    other = w.done(csv(1, start=9))
    copy = w.submit(csv(1, start=9, header="E-Mail,Name,Company\n"), "uploads/copy.csv")
    assert copy.counts.known == 1
    copy = w.finish(copy.upload_id)
    w.reply = by_person({})
    w.retry(other.upload_id, actor="ada")
    w.publish()
    w.classify()
    w.finish(other.upload_id)
    sent = len(w.bus.sent)
    assert w.retry(copy.upload_id, actor="ada") == Retried(copy.upload_id, 1, 1, 0)
    w.publish()
    assert len(w.bus.sent) == sent
    [item] = w.rows(copy.upload_id)
    assert (item.label, item.known, item.cost_microusd) == ("hot", True, 0)


def test_what_was_paid_or_is_final_or_in_doubt_is_not_retried(w: Service) -> None:
    w.reply = by_person({"1": said("maybe"), "2": refused(400), "3": NoAnswer("timed_out")})
    upload = w.done(csv(4))
    before = w.everything()
    with pytest.raises(NothingToRetry, match="No row of the upload"):
        w.retry(upload.upload_id, actor="ada")
    assert w.everything() == before


def test_only_an_upload_that_is_done_is_retried(w: Service) -> None:
    upload = w.submit(csv(1))
    before = w.everything()
    with pytest.raises(NotDone, match=f"The upload {upload.upload_id} is running; its failures can be retried when"):
        w.retry(upload.upload_id, actor="ada")
    with pytest.raises(UnknownUpload, match="There is no upload u-0 here"):
        w.retry("u-0", actor="ada")
    assert w.everything() == before


def test_many_failures_are_opened_beside_each_other_and_all_counted(w: Service) -> None:
    w.reply = lambda request: OVERLOADED
    upload = w.done(csv(130))
    retried = w.retry(upload.upload_id, actor="ada")
    assert (retried.rows, retried.worst_case_microusd) == (130, worst_of(upload, *range(1, 131)))
    w.reply = by_person({})
    w.publish()
    w.classify()
    assert w.finish(upload.upload_id).rows.classified == 130
    assert w.billed == 130


def test_what_may_be_deleted_by_now_is_not_asked_again_by_any_order(w: Service) -> None:
    upload = two_overloaded(w)
    kept_until = w.upload(upload.upload_id).rows_kept_until
    assert kept_until == upload.created_at + 400 * 86_400
    w.now = kept_until
    before = w.everything()
    with pytest.raises(TooOld, match="upload the file anew"):
        w.retry(upload.upload_id, actor="ada")
    for state, order in (("paused", resume), ("needs_approval", approve)):
        old = upload.model_copy(update={"upload_id": f"u-{state}", "state": state, "rows_kept_until": kept_until})
        w.prospects.put_item(Item={**meta_address(old.upload_id), **old.to_item()})
        with pytest.raises(TooOld):
            order(w.table, old.upload_id, actor="ada", clock=w.clock)
        w.prospects.delete_item(Key=meta_address(old.upload_id))
    assert w.everything() == before


def test_an_end_that_is_still_to_be_told_is_not_written_over_by_an_order(w: Service) -> None:
    upload = two_overloaded(w)
    w.prospects.put_item(Item={**open_address(upload.upload_id), **to_be_told(upload).to_item()})
    with pytest.raises(Contended, match="give the order again"):
        w.retry(upload.upload_id, actor="ada")
    [seen] = w.table.open_uploads()
    assert seen == to_be_told(upload)
    w.ticks(1)
    assert w.retry(upload.upload_id, actor="ada").rows == 2


def to_be_told(upload: Upload) -> OpenUpload:
    told = Announcement(kind="finished", serial="finished-1", text="Upload is done.")
    return OpenUpload(upload_id=upload.upload_id, announcement=told)
