"""`prospects local run` against a fake cloud: the contract of `--json`, the exit codes, and one sentence for errors."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from moto import mock_aws
from typer.testing import CliRunner, Result

from cli import local_commands
from cli.main import app
from cli.uploading import Uploader
from functions.uploads.model import RowItem
from local.errors import LocalCloudError
from tests.unit.cli_world import FakeCloud, a_file, ends_as_labels

FILE_KEYS = [
    "file",
    "upload_id",
    "state",
    "reason",
    "records",
    "valid",
    "rejected",
    "duplicates",
    "blank",
    "known",
    "classified",
    "failed",
    "unknown",
    "cost_microusd",
    "rows",
    "results_csv",
]
ROW_KEYS = ["row", "line", "outcome", "label", "reason"]


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCloud]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        fake = FakeCloud()
        monkeypatch.setattr(local_commands, "LocalCloud", fake)
        yield fake


@pytest.fixture
def no_cloud(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a cloud was started for arguments that are wrong")

    monkeypatch.setattr(local_commands, "LocalCloud", refuse)


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["local", "run", *map(str, arguments)])


def as_json(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_json_has_exactly_the_members_of_the_contract_in_their_order(cloud: FakeCloud, tmp_path: Path) -> None:
    result = invoke(a_file(tmp_path), "--json", "--out", tmp_path / "out")
    assert result.exit_code == 0
    found = as_json(result)
    assert list(found) == ["files", "model_requests", "dead_letters"]
    [file] = found["files"]
    assert list(file) == FILE_KEYS
    assert all(list(row) == ROW_KEYS for row in file["rows"])
    assert found["model_requests"] == 3
    assert found["dead_letters"] == {"classify-dlq": 0}


def test_the_counts_of_the_json_add_up_and_its_rows_are_those_of_the_file(cloud: FakeCloud, tmp_path: Path) -> None:
    path = a_file(tmp_path)
    [file] = as_json(invoke(path, "--json", "--out", tmp_path / "out"))["files"]
    assert (file["file"], file["state"], file["reason"]) == (str(path), "done", None)
    assert file["records"] == file["valid"] + file["rejected"] + file["duplicates"] + file["blank"] == 6
    assert file["valid"] == file["classified"] + file["failed"] + file["unknown"] == 3
    assert (file["known"], file["cost_microusd"]) == (0, 30)
    assert [tuple(row.values()) for row in file["rows"]] == [
        (1, 2, "classified", "warm", None),
        (2, 3, "rejected", None, "invalid_email"),
        (3, 4, "duplicate", "warm", "duplicate_in_file"),
        (5, 6, "classified", "cold", None),
        (6, 8, "classified", "hot", None),
    ]


def test_the_results_are_downloaded_under_the_uploads_id(cloud: FakeCloud, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    [file] = as_json(invoke(a_file(tmp_path), "--json", "--out", out))["files"]
    assert file["results_csv"] == str(out / f"{file['upload_id']}.csv")
    assert "cleo@example.com" in Path(file["results_csv"]).read_text(encoding="utf-8-sig")
    assert [path.name for path in out.iterdir()] == [f"{file['upload_id']}.csv"]


def test_a_repeated_file_reports_its_uploads_rows_as_known_and_free(cloud: FakeCloud, tmp_path: Path) -> None:
    same = a_file(tmp_path), a_file(tmp_path, "other name.csv")
    found = as_json(invoke(*same, "--json", "--out", tmp_path / "out"))
    first, second = found["files"]
    assert second["upload_id"] == first["upload_id"]
    assert second["rows"] == first["rows"]
    assert (second["known"], second["cost_microusd"]) == (second["valid"], 0)
    assert (first["known"], first["cost_microusd"]) == (0, 30)
    assert found["model_requests"] == 3


def test_a_refused_file_has_its_sentence_and_no_upload_and_the_others_go_on(cloud: FakeCloud, tmp_path: Path) -> None:
    bad = a_file(tmp_path, "bad.csv", "email,email,name\na@example.com,b@example.com,A\n")
    result = invoke(bad, a_file(tmp_path), "--json", "--out", tmp_path / "out")
    assert result.exit_code == 1
    refused, done = as_json(result)["files"]
    assert (refused["state"], refused["upload_id"], refused["results_csv"]) == ("refused", None, None)
    assert refused["reason"].startswith("duplicate_header: ")
    assert refused["rows"] == []
    assert all(refused[name] == 0 for name in FILE_KEYS[4:14])
    assert done["state"] == "done"


def test_failed_and_unknown_rows_are_reported_and_the_file_is_done(cloud: FakeCloud, tmp_path: Path) -> None:
    endings = {1: ("failed", "no_label"), 5: ("unknown", "llm_timeout_outcome_unknown")}

    def ending(row: RowItem) -> RowItem | None:
        if row.row_number not in endings:
            return ends_as_labels(row)
        outcome, reason = endings[row.row_number]
        return row.model_copy(update={"outcome": outcome, "label": "", "reason": reason})

    cloud.ending = ending
    result = invoke(a_file(tmp_path), "--json", "--out", tmp_path / "out")
    assert result.exit_code == 0
    [file] = as_json(result)["files"]
    assert (file["classified"], file["failed"], file["unknown"]) == (1, 1, 1)
    assert file["rows"][0]["reason"] == "no_label"
    assert file["rows"][2]["label"] is None


def test_a_file_that_does_not_end_is_reported_as_running_with_what_is_open(
    cloud: FakeCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticking = iter(range(10_000))
    monkeypatch.setattr(Uploader.__init__, "__kwdefaults__", {"clock": lambda: next(ticking), "sleep": lambda _: None})
    cloud.ending = lambda row: ends_as_labels(row) if row.row_number != 5 else None
    result = invoke(a_file(tmp_path), "--json", "--patience", 30, "--out", tmp_path / "out")
    assert result.exit_code == 1
    [file] = as_json(result)["files"]
    assert (file["state"], file["classified"], file["results_csv"]) == ("running", 2, None)
    assert [row["row"] for row in file["rows"]] == [1, 2, 3, 6]
    assert "1 of 3 valid rows are still open after 30 s" in result.stderr


def test_model_requests_are_null_where_something_else_answers(cloud: FakeCloud, tmp_path: Path) -> None:
    cloud.model_requests = None
    found = as_json(invoke(a_file(tmp_path), "--json", "--out", tmp_path / "out"))
    assert found["model_requests"] is None


def test_json_stands_alone_on_stdout_and_progress_goes_to_stderr(cloud: FakeCloud, tmp_path: Path) -> None:
    result = invoke(a_file(tmp_path), "--json", "--out", tmp_path / "out")
    assert len(result.stdout.splitlines()) == 1
    assert "Starting the local cloud" in result.stderr
    assert "leads.csv: done, 3 of 3 rows" in result.stderr


def test_what_the_emulator_left_out_of_the_stacks_is_said(cloud: FakeCloud, tmp_path: Path) -> None:
    cloud.dropped = (
        "A1 (AWS::CloudWatch::Alarm): not there.",
        "A2 (AWS::CloudWatch::Alarm): not there.",
        "T (AWS::X::Y): z",
    )
    result = invoke(a_file(tmp_path), "--json", "--out", tmp_path / "out")
    assert "does not have or keep: AWS::CloudWatch::Alarm (2), AWS::X::Y (1)" in result.stderr


def test_the_script_and_the_real_model_reach_the_cloud(cloud: FakeCloud, tmp_path: Path) -> None:
    script = a_file(tmp_path, "script.json", "[]")
    invoke(a_file(tmp_path), "--claude", script, "--real-claude", "--out", tmp_path / "out")
    assert cloud.options is not None
    assert (cloud.options.claude_script, cloud.options.real_claude) == (script, True)


@pytest.mark.usefixtures("no_cloud")
def test_arguments_that_cannot_work_are_one_sentence_and_exit_2_before_anything_starts(tmp_path: Path) -> None:
    good = a_file(tmp_path)
    for arguments, said in (
        ([tmp_path / "none.csv"], "does not exist"),
        ([good, tmp_path], "is a folder"),
        ([os.devnull], "is not a regular file"),
        ([good, "--out", good], "is not a folder"),
    ):
        result = invoke(*arguments)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert said in result.stderr
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.usefixtures("no_cloud")
def test_an_empty_file_that_intake_would_ignore_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").touch()
    result = invoke(tmp_path / "empty.txt")
    assert result.exit_code == 2
    assert "is empty" in result.stderr


@pytest.mark.usefixtures("no_cloud")
def test_no_file_at_all_is_a_usage_error() -> None:
    assert invoke().exit_code == 2


def test_a_cloud_that_does_not_start_is_one_sentence_and_exit_2(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise LocalCloudError("Port 1 of 127.0.0.1 cannot be used; choose another.")

    monkeypatch.setattr(local_commands, "LocalCloud", failing)
    result = invoke(a_file(tmp_path))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Port 1 of 127.0.0.1 cannot be used; choose another.\n"


def test_ctrl_c_ends_the_cloud_and_exits_130(cloud: FakeCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(cloud, "receive", interrupted)
    result = invoke(a_file(tmp_path), "--out", tmp_path / "out")
    assert result.exit_code == 130
    assert cloud.left


def test_the_help_documents_the_exit_codes() -> None:
    text = " ".join(invoke("--help").stdout.split())
    assert "0 every file is done" in text
    assert "1 a file was refused or not finished" in text
