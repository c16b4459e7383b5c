"""`prospects local up` and `down`: what they print, and what they say when there is nothing to do."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli import local_commands
from cli.main import app
from local.errors import LocalCloudError
from local.options import LocalCloudOptions
from local.state import Ended, State


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


def test_up_prints_what_any_other_client_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(_: LocalCloudOptions, *, progress: Any) -> State:
        outputs = {"UploadsBucketName": "the-bucket"}
        return State(pid=1, token="t", folder=Path("f"), endpoint="http://127.0.0.1:9", stand_in=True, outputs=outputs)

    monkeypatch.setattr(local_commands, "up", started)
    lines = CliRunner().invoke(app, ["local", "up"]).stdout.splitlines()
    [variables] = [line.split()[1:] for line in lines if line.startswith("  export ")]
    assert {"AWS_ENDPOINT_URL=http://127.0.0.1:9", "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=000000000000"} <= set(
        variables
    )
    assert "  aws s3 cp leads.csv s3://the-bucket/uploads/" in lines


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (Ended(ran=True), "has ended."),
        (Ended(ran=True, left=Path("kept")), "has ended. Its folder kept is not removed"),
        (Ended(removed=Path("old")), "had ended by itself. What it left in old has been removed."),
        (Ended(left=Path("odd")), "had ended by itself. Its folder odd is not removed"),
        (Ended(), "No local cloud is running"),
    ],
)
def test_down_says_what_it_found_and_did(monkeypatch: pytest.MonkeyPatch, ended: Ended, said: str) -> None:
    monkeypatch.setattr(local_commands, "down", lambda: ended)
    result = CliRunner().invoke(app, ["local", "down"])
    assert result.exit_code == 0
    assert said in result.stdout


WAITS = """
import signal, sys, time
from cli import main

# Whatever started the tests may ignore it, as nohup does; what is ignored stays so in every child.
signal.signal(signal.SIGHUP, signal.Handlers[sys.argv[1]])

def wait():
    try:
        print("waiting", flush=True)
        time.sleep(20)
    finally:
        print("cleaned up", flush=True)

main.app = wait
main.main()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_ended_from_outside_cleans_up(number: signal.Signals) -> None:
    with waiting("SIG_DFL") as command:
        command.send_signal(number)
        said, _ = command.communicate(timeout=10)
    assert (said, command.returncode) == ("cleaned up\n", 128 + number)


def test_a_command_started_with_nohup_goes_on_when_the_terminal_closes() -> None:
    with waiting("SIG_IGN") as command:
        command.send_signal(signal.SIGHUP)
        command.send_signal(signal.SIGTERM)
        said, _ = command.communicate(timeout=10)
    assert (said, command.returncode) == ("cleaned up\n", 128 + signal.SIGTERM)


def waiting(on_hangup: str) -> subprocess.Popen[str]:
    """The command at work, with what its starter did to SIGHUP."""
    program = [sys.executable, "-c", WAITS, on_hangup]
    command = subprocess.Popen(program, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])
    assert command.stdout is not None
    assert command.stdout.readline() == "waiting\n"
    return command
