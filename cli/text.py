"""Text from files and their names, made safe for a terminal."""

from __future__ import annotations


def plain(text: str) -> str:
    """The text on one line, with every control character replaced: a file must not drive the terminal."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)
