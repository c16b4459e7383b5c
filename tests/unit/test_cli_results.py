"""`prospects results`: the final file, or what has ended so far with everything else marked open."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.cli_world import Shell, on_aws
from tests.unit.finish_world import BUCKET, a_row

ID = "u-0123456789abcdef01234567"


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    with on_aws(monkeypatch, tmp_path) as found:
        found.deploy()
        yield found


def rows_of(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def test_of_a_running_upload_what_has_ended_is_written_and_the_rest_is_open(shell: Shell) -> None:
    shell.world.admit(upload_id=ID)
    shell.world.end_rows(a_row(5, upload_id=ID, model="m", request_id="r"))
    found = shell.json("results", ID)
    assert found == {
        "upload_id": ID,
        "state": "running",
        "complete": False,
        "ended": 1,
        "valid": 3,
        "results_csv": f"results/{ID}.so-far.csv",
    }
    rows = rows_of(found["results_csv"])
    assert [(row["email"], row["label"], row["reason"].partition(":")[0], row["model"]) for row in rows] == [
        ("ada@example.com", "", "open", ""),
        ("not-an-address", "", "invalid_email", ""),
        ("'ADA@example.com".lstrip("'"), "", "duplicate_in_file", ""),
        ("cleo@example.com", "hot", "", "m"),
        ("dora@example.com", "", "open", ""),
    ]
    assert rows[4]["notes"] == "'=1+1"


def test_of_a_finished_upload_the_stored_results_are_downloaded(shell: Shell) -> None:
    shell.world.admit(upload_id=ID)
    shell.world.end_rows(*(a_row(number, upload_id=ID) for number in (1, 5, 6)))
    shell.world.tick()
    found = shell.json("results", ID, "--out", "deep/folder")
    assert (found["complete"], found["results_csv"]) == (True, f"deep/folder/{ID}.csv")
    assert Path(found["results_csv"]).read_text(encoding="utf-8-sig") == shell.world.results(ID).replace("\r\n", "\n")
    shown = shell.run("results", ID, "--out", "named.csv")
    assert (shown.exit_code, shown.stdout) == (0, "named.csv\n")
    assert Path("named.csv").exists()


def test_waiting_uploads_can_be_looked_at_too(shell: Shell) -> None:
    shell.world.admit(upload_id=ID, state="needs_approval")
    shown = shell.run("results", ID)
    assert shown.exit_code == 0
    assert "0 of 3 valid rows have ended" in shown.stdout
    assert "needs approval" in shown.stdout


def test_a_place_that_cannot_be_written_is_one_sentence_and_leaves_nothing(shell: Shell) -> None:
    shell.world.admit(upload_id=ID)
    Path("taken").write_text("x")
    assert "is not a folder" in shell.refused("results", ID, "--out", "taken")
    assert "cannot be written" in shell.refused("results", ID, "--out", "taken/deep.csv")
    assert sorted(path.name for path in Path().iterdir()) == ["taken"]


def test_a_source_that_is_gone_is_one_sentence_and_leaves_nothing(shell: Shell) -> None:
    upload = shell.world.admit(upload_id=ID)
    shell.world.s3.delete_object(Bucket=BUCKET, Key=upload.object_key, VersionId=upload.version_id)
    assert "not kept any more" in shell.refused("results", ID, code=1)
    assert list(Path("results").iterdir()) == []


def test_results_that_are_gone_are_one_sentence(shell: Shell) -> None:
    shell.world.admit(upload_id=ID)
    shell.world.end_rows(*(a_row(number, upload_id=ID) for number in (1, 5, 6)))
    shell.world.tick()
    shell.world.s3.delete_object(Bucket=BUCKET, Key=str(shell.world.upload(ID).results_key))
    assert "not kept any more" in shell.refused("results", ID, code=1)
