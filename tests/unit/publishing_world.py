"""What the tests of publishing share: an upload whose publisher was killed, and the tick that goes on."""

from __future__ import annotations

import pytest

from functions.classify.task import Task
from functions.crash_points import Killed, armed, kill_at
from functions.effects.outcomes import Outcome
from functions.uploads.keys import record_id, row_event_id
from functions.uploads.model import Upload
from tests.unit.intake_world import HEADER, World

ANSWER = Outcome(
    kind="succeeded",
    paid=True,
    result={"label": "hot", "cost_microusd": 40},
    audit={"model": "model-1", "prompt_version": "classify-prospect@0", "request_id": "req_1"},
)
MIXED = (HEADER + "".join(f"p{n}@example.com,Person {n},Firm\n,,\nno-address,X,Y\n" for n in range(1, 131))).encode()


def effect_id(upload: Upload, row: int) -> str:
    task = Task.from_json(upload.task)
    fields = {"email": f"p{row}@example.com", "name": f"Person {row}", "company": f"Firm {row}"}
    return record_id(task.name, task.key(fields))


def left_open(w: World, body: bytes, at: str = "events.put_events.before") -> Upload:
    """An upload that was admitted and whose publisher was then killed."""
    event = w.put(body)
    with armed(kill_at(at)), pytest.raises(Killed):
        w.deliver(event)
    w.now += 902
    return w.upload_of(event)


def finish(w: World) -> None:
    for _ in range(50):
        if not w.tick():
            return
        w.now += 902
    raise AssertionError("publishing does not end")


def assert_all_rows_are_on_their_way(w: World, upload: Upload, rows: list[int]) -> None:
    now = w.upload(upload.upload_id)
    assert (now.published, now.publisher_until) == (True, 0)
    answered = [item.row_number for item in w.rows(upload.upload_id)]
    assert sorted({*w.bus.rows, *answered}) == rows
    assert len(w.bus.sent) == len(w.bus.rows) == len(set(w.bus.rows))
    assert set(w.bus.sent) == {row_event_id(upload.upload_id, row, upload.generation) for row in w.bus.rows}
