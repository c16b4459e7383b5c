"""The `prospects` command. Each group of commands is a module of its own; this one only puts them together."""

from __future__ import annotations

import io
import signal
import sys
from types import FrameType
from typing import NoReturn

import typer

from cli import local_commands

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Classify CSV files of prospects with Claude: validated and priced first, every row paid at most once.",
)
app.add_typer(local_commands.app, name="local")


@app.callback()
def _root() -> None:
    """Keeps `local` a group of commands, however many groups there are."""


def main() -> None:
    """The entry point of the installed command."""
    # An exception instead of a sudden end, so that a local cloud is taken down on the way out.
    signal.signal(signal.SIGTERM, _leave)
    for stream in (sys.stdout, sys.stderr):
        # A terminal with a narrow encoding shows question marks instead of a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
