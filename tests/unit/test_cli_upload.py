"""`prospects upload`, with and without waiting for the end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import Result

from cli import upload_commands
from cli.target import Target
from cli.uploading import Uploader
from functions.uploads.model import RowItem
from tests.unit.cli_world import FakeCloud, Shell, a_file, ends_as_labels, on_aws
from tests.unit.finish_world import BUCKET


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    with on_aws(monkeypatch, tmp_path) as found:
        found.deploy()
        yield found


@pytest.fixture
def cloud(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> FakeCloud:
    """A cloud in which an upload ends at once, in place of the one that would be found."""
    fake = FakeCloud(world=shell.world)
    found = Target(fake, "the fake cloud", "local:me", "ProspectUploader", "eu-west-1", "1")
    monkeypatch.setattr(upload_commands, "find_target", lambda *_, **__: found)
    return fake


def last_json(result: Result) -> dict[str, object]:
    found: dict[str, object] = json.loads(result.stdout.splitlines()[-1])
    return found


def test_a_file_is_put_under_its_name_and_the_next_command_is_said(shell: Shell, tmp_path: Path) -> None:
    path = a_file(tmp_path, "Q4 leads (EU)+new é.csv")
    result = shell.run("upload", path)
    assert result.exit_code == 0
    assert 'prospects status "Q4 leads (EU)+new é.csv"' in result.stdout
    stored = shell.world.s3.get_object(Bucket=BUCKET, Key="uploads/Q4 leads (EU)+new é.csv")
    assert stored["Body"].read() == path.read_bytes()
    assert shell.json("upload", path) == {
        "file": "uploads/Q4 leads (EU)+new é.csv",
        "bucket": BUCKET,
        "version_id": shell.world.s3.head_object(Bucket=BUCKET, Key="uploads/Q4 leads (EU)+new é.csv")["VersionId"],
    }


def test_a_file_that_cannot_be_uploaded_is_told_before_a_cloud_is_looked_for(shell: Shell, tmp_path: Path) -> None:
    shell.stacks.outputs.clear()
    assert "does not exist" in shell.refused("upload", tmp_path / "none.csv")
    assert "is a folder" in shell.refused("upload", tmp_path)


def test_watching_ends_with_the_upload_and_shows_it(cloud: FakeCloud, shell: Shell, tmp_path: Path) -> None:
    result = shell.run("upload", a_file(tmp_path), "--watch")
    assert result.exit_code == 0
    assert "3 of 3 valid rows" in result.stdout
    assert "Ctrl-C ends the watching, not the upload" in result.stderr
    found = last_json(shell.run("upload", a_file(tmp_path), "--watch", "--json"))
    assert (found["state"], found["classified"], found["cost_microusd"]) == ("done", 3, 30)


def test_watching_a_file_that_is_refused_exits_1_with_its_sentence(
    cloud: FakeCloud, shell: Shell, tmp_path: Path
) -> None:
    result = shell.run("upload", a_file(tmp_path, "bad.csv", "email,email,name\n"), "--watch")
    assert result.exit_code == 1
    assert "refused (duplicate_header: " in result.stdout


def test_watching_ends_with_1_when_nothing_moves_any_more(
    cloud: FakeCloud, shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticking = iter(range(10_000))
    monkeypatch.setattr(Uploader.__init__, "__kwdefaults__", {"clock": lambda: next(ticking), "sleep": lambda _: None})

    def all_but_one(row: RowItem) -> RowItem | None:
        return ends_as_labels(row) if row.row_number != 5 else None

    cloud.ending = all_but_one
    result = shell.run("upload", a_file(tmp_path), "--watch", "--patience", 30)
    assert result.exit_code == 1
    assert "2 of 3 valid rows" in result.stdout
