"""`prospects status`: one upload by id, beginning or file, or the list of all that is open and was finished last."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cli import counting
from cli.statuses import timestamp
from functions.uploads.model import Progress, Upload
from tests.unit.cli_world import Shell, on_aws
from tests.unit.finish_world import BUCKET, KEY, START, a_row

ID = "u-0123456789abcdef01234567"
OTHER = "u-0123ffffffffffffffffffff"
MEMBERS = [
    *("upload_id", "file", "state", "reason", "created_at", "finished_at"),
    *("records", "valid", "rejected", "duplicates", "blank", "ended", "ended_exact"),
    *("known", "classified", "failed", "unknown", "cost_microusd"),
    *("worst_case_microusd", "reserved_microusd", "published", "prompt_version", "results"),
]


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    with on_aws(monkeypatch, tmp_path) as found:
        found.deploy()
        yield found


def finish(shell: Shell, upload_id: str = ID, key: str = KEY) -> Upload:
    upload = shell.world.admit(upload_id=upload_id, key=key)
    shell.world.end_rows(*(a_row(number, upload_id=upload_id) for number in (1, 5, 6)))
    shell.world.tick()
    return upload


def test_the_json_of_a_running_upload_has_exactly_the_documented_members(shell: Shell) -> None:
    shell.world.admit(upload_id=ID)
    shell.world.end_rows(a_row(5, upload_id=ID))
    found = shell.json("status", ID)
    assert list(found) == MEMBERS
    assert (found["state"], found["ended"], found["ended_exact"], found["valid"]) == ("running", 1, True, 3)
    assert (found["classified"], found["cost_microusd"], found["results"]) == (None, None, None)
    assert found["created_at"] == timestamp(START)


def test_the_json_of_a_finished_upload_has_its_counts_and_where_the_results_are(shell: Shell) -> None:
    finish(shell)
    found = shell.json("status", ID)
    assert (found["state"], found["classified"], found["cost_microusd"], found["ended"]) == ("done", 3, 300, 3)
    assert found["results"] == f"s3://{BUCKET}/results/{ID}/Q4 leads.csv"
    assert found["finished_at"] is not None


@pytest.mark.parametrize("name", [ID, ID[:6], "Q4 leads.csv", "elsewhere/Q4 leads.csv", KEY])
@pytest.mark.parametrize("finished", [False, True], ids=["open", "finished"])
def test_an_upload_is_found_by_id_beginning_or_file(shell: Shell, name: str, *, finished: bool) -> None:
    finish(shell) if finished else shell.world.admit(upload_id=ID)
    assert shell.json("status", name)["upload_id"] == ID


def test_a_beginning_of_two_uploads_names_both_and_changes_nothing(shell: Shell) -> None:
    finish(shell)
    shell.world.admit(upload_id=OTHER, key="uploads/other.csv")
    sentence = shell.refused("status", "u-0123", code=1)
    assert ID in sentence
    assert OTHER in sentence


@pytest.mark.parametrize("name", ["u-ffffffffffffffffffffffff", "u-ffffff", "u-0", "nowhere.csv"])
def test_what_does_not_exist_is_one_sentence_and_exit_1(shell: Shell, name: str) -> None:
    shell.world.admit(upload_id=ID)
    assert shell.refused("status", name, code=1).startswith("There is no upload")


def test_a_file_means_its_newest_version(shell: Shell) -> None:
    shell.world.admit(upload_id=ID)
    shell.world.admit(b"name,email\nEve,eve@example.com\n", upload_id=OTHER)
    assert shell.json("status", "Q4 leads.csv")["upload_id"] == OTHER


def test_a_refused_file_shows_its_code_and_sentence(shell: Shell) -> None:
    version = shell.world.s3.put_object(Bucket=BUCKET, Key="uploads/bad.csv", Body=b"")["VersionId"]
    shell.world.table.begin_object("uploads/bad.csv", version, 0)
    assert shell.json("status", "bad.csv") == {
        "upload_id": None,
        "file": "uploads/bad.csv",
        "state": "waiting",
        "reason": None,
    }
    shell.world.table.refuse_object("uploads/bad.csv", version, "empty_file", "The file is empty.")
    assert shell.json("status", "bad.csv")["reason"] == "empty_file: The file is empty."
    shown = shell.run("status", "bad.csv")
    assert shown.exit_code == 0
    assert "refused (empty_file: The file is empty.)" in shown.stdout
    assert "empty_file" in shell.refused("results", "bad.csv", code=1)


def test_the_list_has_open_uploads_first_and_then_the_last_finished_newest_first(shell: Shell) -> None:
    ids = [f"u-{number:024x}" for number in range(1, 4)]
    for number, upload_id in enumerate(ids):
        finish(shell, upload_id, f"uploads/{number}.csv")
    shell.world.admit(upload_id=ID, key="uploads/open.csv")
    found = shell.json("status", "--last", "2")
    assert [each["upload_id"] for each in found["open"]] == [ID]
    assert len(found["finished"]) == 2
    assert {each["upload_id"] for each in found["finished"]} <= set(ids)
    shown = shell.run("status").stdout
    assert shown.index("open.csv") < shown.index("0.csv")


def test_an_empty_deployment_says_how_to_begin(shell: Shell) -> None:
    assert "prospects upload FILE" in shell.run("status").stdout


def test_a_large_running_upload_is_not_counted_but_shown_as_the_last_tick_saw_it(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "COUNTED_UP_TO", 2)
    shell.world.admit(upload_id=ID)
    [seen] = shell.world.table.open_uploads()
    assert shell.world.table.claim_look(seen, 5)
    assert shell.world.table.look_again(ID, 5, 9, Progress(terminal=2, moved_at=1))
    shell.world.end_rows(a_row(5, upload_id=ID))
    found = shell.json("status", ID)
    assert (found["ended"], found["ended_exact"]) == (2, False)
    assert "2 of 3 valid rows (at the last look)" in shell.run("status", ID).stdout


def test_a_paused_upload_says_why_and_what_to_do(shell: Shell) -> None:
    upload = shell.world.admit(upload_id=ID)
    assert shell.world.table.pause(upload, "llm_key_refused")
    assert (shell.json("status", ID)["state"], shell.json("status", ID)["reason"]) == ("paused", "llm_key_refused")
    shown = shell.run("status", ID).stdout
    assert "into the secret" in shown
    assert "prospects resume" in shown


def test_names_in_the_bucket_do_not_drive_the_terminal(shell: Shell) -> None:
    shell.world.admit(upload_id=ID, key="uploads/a\x1b[2J[red]b.csv")
    for arguments in (("status",), ("status", ID)):
        shown = shell.run(*arguments).stdout
        assert "\x1b" not in shown
        assert "[red]b.csv" in shown
