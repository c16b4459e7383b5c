"""`--set NAME=VALUE`: what reaches the stacks of a local cloud, and what is refused before anything starts."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from cli import local_commands
from cli.errors import CommandError
from cli.main import app
from cli.stack_settings import settings_of
from local.errors import LocalCloudError
from local.options import LocalCloudOptions
from local.state import State


def test_a_value_may_hold_anything() -> None:
    given = ["tick_s=2", "rendered_columns = email, a=b", "anthropic_base_url="]
    assert settings_of(given) == {"tick_s": "2", "rendered_columns": "email, a=b", "anthropic_base_url": ""}


@pytest.mark.parametrize(
    ("pairs", "said"),
    [(["tick_s"], "as NAME=VALUE"), (["=2"], "as NAME=VALUE"), (["tick_s=1", "tick_s=2"], "is given twice")],
)
def test_what_is_no_setting_is_one_sentence(pairs: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        settings_of(pairs)


@pytest.mark.parametrize("name", ["region", "account", "bundle"])
def test_what_the_local_cloud_needs_as_it_is_cannot_be_set(name: str) -> None:
    with pytest.raises(CommandError, match=f"the local cloud sets {name} itself"):
        settings_of([f"{name}=other"])


def test_up_says_what_the_stacks_say_of_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[LocalCloudOptions] = []

    def refused(options: LocalCloudOptions, **_: object) -> State:
        given.append(options)
        raise LocalCloudError("The stacks cannot be synthesized: setting tick_s: refused.")

    monkeypatch.setattr(local_commands, "up", refused)
    result = CliRunner().invoke(app, ["local", "up", "--set", "tick_s=0"])
    assert given[0].context["tick_s"] == "0"
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (
        2,
        "The stacks cannot be synthesized: setting tick_s: refused.",
    )
