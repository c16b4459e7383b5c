"""Which cloud a command works on, and the one sentence for every reason why there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError, UnauthorizedSSOTokenError

from cli import target
from cli.deployed import STACKS
from cli.sentences import EXPIRED, sentence_of
from local.errors import LocalCloudError
from local.running import RunningCloud
from local.state import DEFAULT_STATE_FILE
from tests.unit.cli_world import Shell, on_aws
from tests.unit.finish_world import REGION

COMMANDS = (("status",), ("results", "u-123456"), ("doctor",))


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    with on_aws(monkeypatch, tmp_path) as found:
        yield found


def a_running_cloud(monkeypatch: pytest.MonkeyPatch) -> RunningCloud:
    running = RunningCloud("http://127.0.0.1:1", {"UploadsBucketName": "local"}, stand_in=True)
    monkeypatch.setattr(target, "find_running", lambda: running)
    DEFAULT_STATE_FILE.parent.mkdir()
    DEFAULT_STATE_FILE.touch()
    return running


@pytest.mark.parametrize("command", COMMANDS)
def test_against_nothing_every_command_says_how_to_start_or_deploy(shell: Shell, command: tuple[str, ...]) -> None:
    sentence = shell.refused(*command)
    assert "no stack ProspectUploaderStorage in account 123456789012, Region eu-west-1" in sentence
    assert "`prospects local up`" in sentence
    assert "`cdk deploy --all`" in sentence


def test_without_credentials_it_says_so_and_how_to_start_without_them(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    sentence = shell.refused("status")
    assert sentence.startswith("There are no usable AWS credentials")
    assert "`prospects local up`" in sentence


def test_without_a_region_it_says_so(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert shell.refused("status").startswith("No AWS Region is set: name it with --region")


def test_a_region_that_does_not_exist_is_told_before_anything_is_asked(shell: Shell) -> None:
    assert shell.refused("status", "--region", "eu-wset-1").startswith("eu-wset-1 is no AWS Region")


def test_the_stacks_are_found_by_name_and_region(shell: Shell) -> None:
    shell.deploy("Crm")
    assert "no stack ProspectUploaderStorage" in shell.refused("status")
    assert "Region us-east-1" in shell.refused("status", "--name", "Crm", "--region", "us-east-1")
    result = shell.run("status", "--name", "Crm")
    assert result.exit_code == 0
    assert "Crm in eu-west-1 (account 123456789012)" in result.stdout


def test_stacks_without_the_outputs_are_told_to_be_deployed_again(shell: Shell) -> None:
    for part in STACKS:
        shell.stacks.outputs[REGION, f"ProspectUploader{part}"] = {}
    assert "have no output UploadsBucketName: deploy them" in shell.refused("status")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("ExpiredToken", "session has expired"),
        ("InvalidClientTokenId", "does not accept these credentials"),
        ("AccessDenied", "may not call DescribeStacks"),
        ("Throttling", "is throttling DescribeStacks"),
        ("InternalFailure", "AWS refused DescribeStacks: InternalFailure"),
    ],
)
def test_what_aws_refuses_is_one_sentence_without_its_own_text(shell: Shell, code: str, said: str) -> None:
    shell.stacks.answers["DescribeStacks"] = code
    sentence = shell.refused("status")
    assert said in sentence
    assert "a text of the service" not in sentence


def test_errors_that_are_no_answers_have_sentences_too() -> None:
    assert "cannot be reached" in sentence_of(EndpointConnectionError(endpoint_url="https://x"))
    assert sentence_of(UnauthorizedSSOTokenError()) == EXPIRED


def test_a_profile_that_is_not_configured_is_one_sentence(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nowhere")
    assert shell.refused("status") == "AWS_PROFILE names a profile that is not configured on this machine."


def test_a_running_local_cloud_goes_first(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    running = a_running_cloud(monkeypatch)
    shell.deploy()
    found = target.find_target(None, None, local=False, aws=False)
    assert found.cloud is running
    assert found.actor.startswith("local:")


@pytest.mark.parametrize("options", [{"aws": True}, {"region": "eu-west-1"}, {"name": "ProspectUploader"}])
def test_aws_a_name_or_a_region_ask_for_aws_all_the_same(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    a_running_cloud(monkeypatch)
    shell.deploy()
    found = target.find_target(**({"name": None, "region": None, "local": False, "aws": False} | options))
    assert found.local is None
    assert found.actor.startswith("arn:aws:")


def test_local_never_falls_back_to_aws(shell: Shell) -> None:
    shell.deploy()
    sentence = "No local cloud is running from this folder; start one with `prospects local up`."
    assert shell.refused("status", "--local") == sentence
    assert shell.refused("local", "outbox") == sentence


def test_what_was_meant_for_a_local_cloud_that_died_does_not_go_to_aws(shell: Shell) -> None:
    shell.deploy()
    DEFAULT_STATE_FILE.parent.mkdir()
    DEFAULT_STATE_FILE.write_text("{}")
    assert shell.refused("status").startswith("The local cloud of this folder does not answer")
    assert shell.run("status", "--aws").exit_code == 0


def test_local_and_aws_together_are_refused(shell: Shell) -> None:
    assert "leave one out" in shell.refused("status", "--local", "--region", "eu-west-1")


def test_a_local_cloud_that_stops_answering_is_one_sentence(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    a_running_cloud(monkeypatch)
    monkeypatch.setattr(RunningCloud, "resource", lambda *_: (_ for _ in ()).throw(LocalCloudError("It is gone.")))
    monkeypatch.setattr(RunningCloud, "client", lambda *_: None)
    assert shell.refused("status") == "It is gone."
