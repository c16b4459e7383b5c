"""Asking before money is spent; where nobody can be asked, the answer must stand on the command line."""

from __future__ import annotations

import sys

from rich.console import Console

from cli.errors import CommandError, NotSoError

YES = frozenset({"y", "yes"})


def at_terminal() -> bool:
    return sys.stdin.isatty()


MAY_COST = "This may cost money"


def confirm(console: Console, question: str, *, yes: bool, because: str = MAY_COST) -> None:
    """Return when the person agrees. Raises NotSoError when not, CommandError where nobody can be asked.

    `because` begins the sentence about that.
    """
    if yes:
        return
    if not at_terminal():
        raise CommandError(
            f"{because} and nobody can be asked here, so nothing was changed; repeat the command with --yes."
        )
    answer = console.input(f"{question} \\[y/N] ")
    if answer.strip().casefold() not in YES:
        raise NotSoError("Nothing was changed.")
