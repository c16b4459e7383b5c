"""How the fields of a record are told apart. The rest is fixed: quote `"`, doubled inside, any line end."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass

QUOTE = '"'

# Name of each delimiter that is looked for, in the order that decides between equals.
DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """`delimiter` is one character. `skip_spaces`: spaces after a delimiter are no part of the field."""

    delimiter: str
    skip_spaces: bool = False

    def reader(self, lines: Iterator[str]) -> Iterator[list[str]]:
        """Records of the lines, read strictly: `csv.Error` for text after a closing quote and for an open quote."""
        return csv.reader(
            lines, delimiter=self.delimiter, quotechar=QUOTE, skipinitialspace=self.skip_spaces, strict=True
        )

    def lenient(self, line: str) -> tuple[str, ...]:
        """The cells of one line whatever its quotes: for showing a record that is rejected for them."""
        rows = csv.reader(
            [line.rstrip("\r\n")], delimiter=self.delimiter, quotechar=QUOTE, skipinitialspace=self.skip_spaces
        )
        return tuple(next(rows, ()))

    @property
    def name(self) -> str:
        """For a sentence: `comma`, or the character itself when it is none of the usual ones."""
        return DELIMITERS.get(self.delimiter, f'"{self.delimiter}"')
