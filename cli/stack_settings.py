"""`--set NAME=VALUE`: settings of the stacks for a local cloud; what a setting allows is said by the stacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from cli.errors import CommandError
from functions.text import one_line

Settings = Annotated[
    list[str],
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of the stacks, as `cdk deploy -c` takes it, such as max_upload_microusd=3000. May be repeated.",
        show_default=False,
    ),
]
_NOT_TO_SET = frozenset({"account", "bundle", "region"})
"""The emulator answers for one account and one Region, and runs the code beside the packages installed here."""


def settings_of(given: Sequence[str]) -> dict[str, str]:
    """Value by name. Raises CommandError for what is not NAME=VALUE, given twice, or not for the caller to set."""
    found: dict[str, str] = {}
    for pair in given:
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not name or not equals:
            raise CommandError(
                f"--set {one_line(pair)}: give a setting as NAME=VALUE, such as max_upload_microusd=3000."
            )
        if name in _NOT_TO_SET:
            raise CommandError(f"--set {name}: the local cloud sets {name} itself; leave it out.")
        if name in found:
            raise CommandError(f"--set {one_line(name)} is given twice; leave one out.")
        found[name] = value
    return found
