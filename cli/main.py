"""The `prospects` command. Each group of commands is a module of its own; this one only puts them together."""

from __future__ import annotations

import io
import signal
import sys
from types import FrameType
from typing import NoReturn

import typer

from cli import doctor_command, local_commands, operator_commands, refund_commands, refund_serving, upload_commands

_ENDINGS = (signal.SIGTERM, signal.SIGHUP)

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Classify CSV files of prospects with Claude: validated and priced first, every row paid at most once.",
)
app.command(epilog=upload_commands.UPLOAD_CODES)(upload_commands.upload)
app.command(epilog=upload_commands.STATUS_CODES)(upload_commands.status)
app.command(epilog=operator_commands.ORDER_CODES)(operator_commands.approve)
app.command(epilog=operator_commands.ORDER_CODES)(operator_commands.resume)
app.command(epilog=upload_commands.RESULTS_CODES)(upload_commands.results)
app.command(epilog=operator_commands.SHOWN_CODES)(operator_commands.failures)
app.command(epilog=operator_commands.ORDER_CODES)(operator_commands.retry)
app.command(epilog=operator_commands.SHOWN_CODES)(operator_commands.audit)
app.command(epilog=doctor_command.EXIT_CODES)(doctor_command.doctor)
refund_commands.app.command()(refund_serving.start)
refund_commands.app.command()(refund_serving.serve)
refund_commands.app.command()(refund_serving.tool)
app.add_typer(refund_commands.app, name="refund")
app.add_typer(local_commands.app, name="local")


def main() -> None:
    """The entry point of the installed command."""
    # An exception instead of a sudden end, so that a local cloud is taken down on the way out.
    for number in _ENDINGS:
        # Whoever started this with nohup wants it to go on.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    for stream in (sys.stdout, sys.stderr):
        # A terminal with a narrow encoding shows question marks instead of a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app()


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    # A terminal that closes may say so twice, and the way out is not to be interrupted.
    for each in _ENDINGS:
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
