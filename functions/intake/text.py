"""The edges of a text: what is trimmed from headers, from e-mail addresses and from every cell that is rendered."""

from __future__ import annotations

# Everything Python calls white space: ASCII, NEL, NBSP, the typographic and the ideographic spaces, line separators.
WHITE_SPACE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())

# No width of their own, so nobody can see them at an edge: zero-width spaces and joiners, word joiner, byte-order mark,
# soft hyphen, and the direction marks that copying from a web page or a chat leaves behind.
ZERO_WIDTH = (
    "\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff"
)

EDGES = WHITE_SPACE + ZERO_WIDTH


def trim(text: str) -> str:
    """The text without white space and zero-width characters at its edges; its inside is left as it is."""
    return text.strip(EDGES)
