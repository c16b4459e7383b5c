"""Text that people read: a name from outside must neither forge lines of ours nor drive a terminal."""

from __future__ import annotations


def one_line(text: str) -> str:
    """The text with every character that cannot be printed (line breaks, escapes, marks of direction) replaced."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
