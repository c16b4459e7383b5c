"""What the command says when it cannot do what was asked: one sentence on stderr and an exit code."""

from __future__ import annotations


class CommandError(Exception):
    """The message is one sentence for the person at the terminal: what is wrong, where, what to do. Exit code 2."""

    exit_code = 2


class NotSoError(CommandError):
    """What was asked for is not there, or not in the state that it takes; nothing was changed. Exit code 1."""

    exit_code = 1
