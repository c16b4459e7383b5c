"""`prospects local up` and `down`: what they print, and what they say when there is nothing to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli import local_commands
from cli.main import app
from local.errors import LocalCloudError
from local.options import LocalCloudOptions
from local.state import State


def test_up_prints_where_the_cloud_is_and_how_to_stop_it(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[LocalCloudOptions] = []

    def started(options: LocalCloudOptions, *, progress: Any) -> State:
        given.append(options)
        progress("deploying")
        outputs = {"UploadsBucketName": "the-bucket"}
        return State(pid=1, token="t", folder=Path("f"), endpoint="http://127.0.0.1:9", stand_in=True, outputs=outputs)

    monkeypatch.setattr(local_commands, "up", started)
    result = CliRunner().invoke(app, ["local", "up", "--port", "4566"])
    assert result.exit_code == 0
    assert given[0].port == 4566
    for shown in ("http://127.0.0.1:9", "the-bucket", "stand-in", "prospects local down"):
        assert shown in result.stdout
    assert "Deploying the stacks" in result.stderr


def test_up_says_in_one_sentence_why_it_did_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> State:
        raise LocalCloudError("A local cloud is running already.")

    monkeypatch.setattr(local_commands, "up", refused)
    result = CliRunner().invoke(app, ["local", "up"])
    assert (result.exit_code, result.stderr) == (2, "A local cloud is running already.\n")


@pytest.mark.parametrize(("ended", "said"), [(True, "has ended"), (False, "No local cloud is running")])
def test_down_says_whether_there_was_one(monkeypatch: pytest.MonkeyPatch, ended: bool, said: str) -> None:
    monkeypatch.setattr(local_commands, "down", lambda: ended)
    result = CliRunner().invoke(app, ["local", "down"])
    assert result.exit_code == 0
    assert said in result.stdout
