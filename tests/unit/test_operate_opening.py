"""Orders beside looks: what an operator orders stays reserved for, and what is too old is not asked again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from functions.classify.billing import NoAnswer
from functions.crash_points import armed
from functions.operate.errors import TooOld
from functions.uploads.model import Upload
from tests.unit.intake_world import csv
from tests.unit.operate_world import Service, by_person, order, service


@pytest.fixture
def w() -> Iterator[Service]:
    with service() as made:
        yield made


def running_with_a_lost_answer(w: Service) -> Upload:
    w.reply = by_person({"2": NoAnswer("timed_out")})
    upload = w.submit(csv(3))
    w.classify()
    w.reply = by_person({})
    return w.upload(upload.upload_id)


def test_an_end_between_the_reservation_and_the_order_takes_the_reservation_and_it_is_made_again(w: Service) -> None:
    upload = running_with_a_lost_answer(w)
    found, came = order(w), list[str]()
    plan = found.plans.plan_row("rerun", upload, 2)

    def hook(reached: str) -> None:
        if reached == "operate.settle.before" and not came:
            came.append("an end")
            w.ticks(1)
            done = w.upload(upload.upload_id)
            assert (done.state, done.reserved_microusd) == ("done", 0)
            assert w.table.reopen(done, actor="bob", day="", reserve_microusd=0, publish=False)

    with armed(hook):
        resolved = found.carry_out(plan, actor="ada", reason="r")
    again = w.upload(upload.upload_id)
    assert (again.state, again.reserved_microusd) == ("running", resolved.reserved_microusd)
    assert resolved.reserved_microusd > 0


def test_of_an_upload_that_is_too_old_a_bill_can_be_said_and_nothing_be_asked_again(w: Service) -> None:
    upload = running_with_a_lost_answer(w)
    w.ticks(2)
    assert upload.rows_kept_until is not None
    w.now = upload.rows_kept_until
    found = order(w)
    for decision in ("rerun", "not-billed"):
        with pytest.raises(TooOld):
            found.carry_out(found.plans.plan_row(decision, w.upload(upload.upload_id), 2), actor="ada", reason="r")  # type: ignore[arg-type]
    found.carry_out(found.plans.plan_row("billed", w.upload(upload.upload_id), 2), actor="ada", reason="on the invoice")
    asked = len(w.asked)
    w.ticks(3)
    [row] = [item for item in w.rows(upload.upload_id) if item.row_number == 2]
    assert (row.outcome, row.reason, len(w.asked)) == ("failed", "answer_lost", asked)
