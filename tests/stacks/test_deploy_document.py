"""Every command in `docs/deploy.md` exists, with the options it is given: nobody could try them against an account."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator

import botocore.session
import pytest
import typer.main
from botocore import xform_name

from stacks.settings import RULES
from tests.stacks.templates import ROOT, Templates

DOCUMENT = (ROOT / "docs" / "deploy.md").read_text()
ANYWHERE = {"--query", "--output", "--region", "--profile"}
"""Options that every command of the AWS CLI takes."""
CDK = {
    "bootstrap": set(),
    "deploy": {"--all", "-c"},
    "diff": {"-c"},
    "destroy": {"--all", "-c"},
}


def commands(program: str) -> Iterator[list[str]]:
    """Those in code blocks and in running text, as words without the program's name."""
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", DOCUMENT, re.DOTALL | re.MULTILINE)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    spans = [" ".join(span.split()) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", DOCUMENT)]
    for text in (*lines, *spans):
        if text.startswith(f"{program} "):
            yield shlex.split(text, comments=True)[1:]


def options(words: list[str]) -> set[str]:
    return {word for word in words if word.startswith("-") and word != "-"}


def test_every_command_of_the_aws_cli_is_an_operation_with_these_parameters() -> None:
    session = botocore.session.Session()
    seen = 0
    for service, command, *rest in commands("aws"):
        if service == "s3":
            # Its own commands, of no operation's name.
            assert command == "cp"
            continue
        model = session.get_service_model("s3" if service == "s3api" else service)
        operations = {xform_name(name, "-"): name for name in model.operation_names}
        shape = model.operation_model(operations[command]).input_shape
        members = {f"--{xform_name(name, '-')}" for name in shape.members} if shape else set()
        given = {option.replace("--no-", "--") for option in options(rest)}
        assert given <= members | ANYWHERE, f"aws {service} {command}"
        required = {f"--{xform_name(name, '-')}" for name in (shape.required_members if shape else ())}
        # A command in running text is named, not spelled out.
        assert not rest or required <= given, f"aws {service} {command}"
        seen += 1
    assert seen > 10


def test_every_command_of_the_cdk_has_these_options_and_names_settings_that_it_accepts() -> None:
    seen = 0
    for command, *rest in commands("cdk"):
        assert options(rest) <= CDK[command]
        for name, value in (word.split("=") for flag, word in itertools.pairwise(rest) if flag == "-c" and "=" in word):
            assert RULES[name].read(value) is not None
        seen += 1
    assert seen > 4


def test_every_command_of_ours_exists_with_these_options() -> None:
    from cli.main import app

    group = typer.main.get_command(app)
    seen = 0
    for command, *rest in commands("prospects"):
        known = {option for parameter in group.commands[command].params for option in parameter.opts}  # type: ignore[attr-defined]
        assert options(rest) <= known, command
        seen += 1
    assert seen > 6


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", DOCUMENT))))
def test_every_setting_it_names_is_one(name: str) -> None:
    from cli.doctor.examination import CHECKS

    assert name in RULES or name in CHECKS or name in {"api_key"}


def test_it_explains_every_check_of_the_doctor() -> None:
    from cli.doctor.examination import CHECKS

    table = DOCUMENT.split("## 5.")[1].split("## 6.")[0]
    assert set(re.findall(r"`([a-z_]+)`", table)) >= CHECKS.keys()


def test_the_dashboards_stacks_and_outputs_it_names_are_deployed(templates: Templates) -> None:
    boards = {each.properties["DashboardName"] for each in templates.of_type("AWS::CloudWatch::Dashboard")}
    stacks = {resource.stack for resource in templates.resources}
    named = set(re.findall(r"ProspectUploader[-A-Z][-A-Za-z]+", DOCUMENT))
    assert named == boards | (named & stacks)
    assert {"UploadsBucketName", "DeadLetterQueues"} <= {name.split(".")[1] for name in templates.outputs}
