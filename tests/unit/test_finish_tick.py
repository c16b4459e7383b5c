"""The tick on moto: an upload is finished once, exactly, whoever else looks and wherever a tick is killed."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from functions.crash_points import Killed, armed, kill_at
from functions.finish.tick import TickFailedError
from functions.uploads.model import Counts
from tests.unit.finish_world import BUCKET, START, World, a_row


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield World()


def all_rows_end(world: World) -> None:
    world.end_rows(
        a_row(1, model="m", request_id="req_1"),
        a_row(5, "failed", reason="no_label", cost_microusd=50),
        a_row(6, "classified", label="cold", known=True, cost_microusd=0),
    )


def events(world: World) -> list[dict[str, Any]]:
    return [json.loads(entry["Detail"]) for entry in world.bus.entries]


def test_an_upload_whose_rows_have_all_ended_is_done_with_counts_that_add_up(world: World) -> None:
    world.admit()
    all_rows_end(world)
    assert world.tick() == {"finished": 1}
    done = world.upload()
    assert (done.state, done.revision, done.finished_at) == ("done", 1, START)
    assert (done.rows.classified, done.rows.failed, done.rows.unknown, done.rows.known) == (2, 1, 0, 1)
    assert done.rows.classified + done.rows.failed + done.rows.unknown == done.counts.valid
    assert done.rows.cost_microusd == 150
    assert world.still_open() == []
    assert world.tick() == {}


def test_the_results_hold_every_record_that_is_not_blank_in_the_order_of_the_file(world: World) -> None:
    world.admit()
    all_rows_end(world)
    world.tick()
    assert world.upload().results_key == "results/u-1/Q4 leads.csv"
    header, *lines = list(csv.reader(io.StringIO(world.results(), newline="")))
    assert header[:3] == ["name", "email", "notes"]
    assert [line[1] for line in lines] == [
        "ada@example.com",
        "not-an-address",
        "ADA@example.com",
        "cleo@example.com",
        "dora@example.com",
    ]
    labels = [line[header.index("label")] for line in lines]
    assert labels == ["hot", "", "hot", "", "cold"]


def test_an_upload_with_an_open_row_is_counted_and_looked_at_again_later(world: World) -> None:
    world.admit()
    world.end_rows(a_row(1), a_row(5))
    assert world.tick() == {"counted": 1}
    assert world.upload().state == "running"
    world.now += 20
    assert world.tick() == {"not_due": 1}
    world.end_rows(a_row(6))
    world.now += 39.9
    assert world.tick() == {"finished": 1}


def test_an_upload_without_a_valid_row_is_done_at_once(world: World) -> None:
    world.admit(b"name,email\nA,nowhere\nB,nobody\n")
    assert world.tick() == {"finished": 1}
    assert "invalid_email" in world.results()


def test_the_event_of_the_end_is_an_envelope_that_names_the_results(world: World) -> None:
    world.admit()
    all_rows_end(world)
    world.tick()
    [event] = events(world)
    assert (event["type"], event["correlation_id"], event["lineage"]) == ("upload.finished", "u-1", ["finish"])
    assert event["data"]["results"] == {"bucket": BUCKET, "key": "results/u-1/Q4 leads.csv"}
    assert event["data"]["rows"]["classified"] == 2
    assert world.bus.entries[0]["DetailType"] == "upload.finished"


def test_the_summary_tells_numbers_reasons_and_the_place_but_nothing_of_the_rows(world: World) -> None:
    world.admit()
    all_rows_end(world)
    world.tick()
    [mail] = world.mails()
    assert mail["Subject"] == "Prospects done: 2 classified, 1 failed, 0 unknown"
    text = mail["Message"]
    assert f"s3://{BUCKET}/results/u-1/Q4 leads.csv" in text
    assert "Cost: 0.000150 USD" in text
    assert "record 2, line 3: rejected: invalid_email" in text
    assert "record 5, line 6: failed: no_label" in text
    for personal in ("Ada", "ada@", "Cleo", "not-an-address", "quote"):
        assert personal not in text


def test_while_a_publisher_is_alive_nothing_is_counted_or_started(world: World) -> None:
    world.admit(published=False, publisher_until=START + 100)
    assert world.tick() == {"publishing": 1}
    assert world.intake.payloads == []


def test_an_upload_whose_publisher_died_is_continued(world: World) -> None:
    world.admit(published=False, publisher_until=START - 1)
    assert world.tick() == {"continued": 1}
    assert world.intake.payloads == [{"continue_upload": "u-1"}]


@pytest.mark.parametrize("point", ["finish.continue_publishing.before", "finish.continue_publishing.after"])
def test_a_tick_killed_while_it_continues_an_upload_is_repaired_by_the_next(world: World, point: str) -> None:
    world.admit(published=False)
    with armed(kill_at(point)), pytest.raises(Killed):
        world.tick()
    world.now += 61
    world.tick()
    assert {"continue_upload": "u-1"} in world.intake.payloads


def test_an_upload_that_waits_for_an_operator_is_left_alone(world: World) -> None:
    world.admit(state="paused")
    all_rows_end(world)
    assert world.tick() == {"waiting": 1}
    assert world.upload().state == "paused"


def test_an_upload_that_cannot_be_finished_is_reported_and_keeps_no_other_from_its_end(world: World) -> None:
    world.admit(
        upload_id="u-0", key="uploads/gone.csv", counts=Counts(records=1, valid=0), version_id="no-such-version"
    )
    world.admit()
    all_rows_end(world)
    with pytest.raises(TickFailedError, match="u-0"):
        world.tick()
    assert world.upload("u-1").state == "done"
    assert world.upload("u-0").state == "running"
    assert world.still_open() == ["u-0"]


def test_rows_that_are_not_the_rows_of_the_file_never_make_an_upload_done(world: World) -> None:
    world.admit()
    world.end_rows(a_row(1), a_row(5), a_row(2))
    with pytest.raises(TickFailedError):
        world.tick()
    assert world.upload().state == "running"
    assert world.bus.entries == []
    assert world.mails() == []


def test_a_tick_without_time_begins_nothing(world: World) -> None:
    world.admit()
    assert world.tick(lasting_s=1) == {"out_of_time": 1}
    assert world.upload().state == "running"


def test_a_finished_upload_expires_unless_a_row_is_unknown(world: World) -> None:
    world.admit()
    world.end_rows(a_row(1), a_row(5), a_row(6))
    world.admit(upload_id="u-2", key="uploads/b.csv")
    world.end_rows(*(a_row(n, "unknown", upload_id="u-2", reason="llm_timeout") for n in (1, 5, 6)))
    world.tick()
    assert world.upload("u-1").expires_at == START + 10 * 86_400
    assert world.upload("u-2").expires_at is None
    assert any("waits for proof or for an operator" in mail["Message"].replace("\n", " ") for mail in world.mails())
