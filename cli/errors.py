"""What the command says when it cannot do what was asked: one sentence on stderr and exit code 2."""

from __future__ import annotations


class CommandError(Exception):
    """The message is one sentence for the person at the terminal: what is wrong, where, what to do."""
