"""Where a record that is over the limit ends, found without holding it, so that the records after it are not lost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from functions.intake.dialect import QUOTE, Dialect
from functions.intake.lines import is_ended


@dataclass(frozen=True, slots=True)
class Oversize:
    """What a record over the limit came to. `cells` are cut: only its first `kept` characters are in them.

    `field` is the number (from 1) of its longest field, `field_bytes` that field's length in UTF-8. `trusted` is false
    when a quoted field that spans lines never ended, or ended in other text: then nothing after it can be trusted.
    `quote_line` counts the physical lines from the record's first to the one where the last quoted field opened.
    """

    cells: tuple[str, ...]
    field: int
    field_bytes: int
    trusted: bool
    quote_line: int


class _State(Enum):
    START = "at the start of a field"
    PLAIN = "in an unquoted field"
    QUOTED = "in a quoted field"
    QUOTE = "after a quote in a quoted field"


def measure(pieces: Iterable[str], dialect: Dialect, *, keep: int) -> Oversize:
    """Consume `pieces` (lines, or parts of one line) up to the end of the record that begins with them.

    Fields and quotes follow the rules of `csv.reader`; text after a closing quote ends the record with its line.
    """
    scan = _Scan(dialect, keep)
    for piece in pieces:
        if scan.take(piece):
            break
    return scan.result()


class _Scan:
    def __init__(self, dialect: Dialect, keep: int) -> None:
        self._delimiter = dialect.delimiter
        self._skip_spaces = dialect.skip_spaces
        self._room = keep
        self._cells: list[str] = []
        self._parts: list[str] = []
        self._fields = 0
        self._bytes = 0
        self._longest = (0, 0)
        self._state = _State.START
        self._malformed = False
        self._line = 1
        self._quote_line = 0

    def take(self, piece: str) -> bool:
        """Scan one piece; true when the record ends with it."""
        position = 0
        while position < len(piece) and not self._malformed:
            match self._state:
                case _State.START:
                    position = self._start(piece, position)
                case _State.PLAIN:
                    position = self._plain(piece, position)
                case _State.QUOTED:
                    position = self._quoted(piece, position)
                case _State.QUOTE:
                    position = self._after_quote(piece, position)
        if not is_ended(piece):
            return False
        if self._malformed or self._state is not _State.QUOTED:
            return True
        self._line += 1
        return False

    def result(self) -> Oversize:
        self._end_field()
        spans = self._quote_line != self._line
        doubtful = self._state is _State.QUOTED or (self._malformed and spans)
        number, size = self._longest
        return Oversize(tuple(self._cells), number, size, not doubtful, self._quote_line)

    def _start(self, piece: str, position: int) -> int:
        while self._skip_spaces and piece.startswith(" ", position):
            position += 1
        if position == len(piece):
            return position
        if piece.startswith(QUOTE, position):
            self._state, self._quote_line = _State.QUOTED, self._line
            return position + 1
        self._state = _State.PLAIN
        return position

    def _plain(self, piece: str, position: int) -> int:
        if QUOTE not in piece and not self._skip_spaces:
            return self._without_quotes(piece, position)
        end = piece.find(self._delimiter, position)
        if end < 0:
            self._add(piece[position:].rstrip("\r\n"))
            return len(piece)
        self._add(piece[position:end])
        return self._next_field(end)

    def _without_quotes(self, piece: str, position: int) -> int:
        """The rest of a piece in which no quote can matter, at once: a record may be millions of empty fields."""
        fields = piece[position:].rstrip("\r\n").split(self._delimiter)
        self._add(fields[0])
        if len(fields) == 1:
            return len(piece)
        self._end_field()
        inner = fields[1:-1]
        sizes = [len(field.encode()) for field in inner]
        if sizes and max(sizes) > self._longest[1]:
            self._longest = (self._fields + sizes.index(max(sizes)) + 1, max(sizes))
        self._fields += len(inner)
        for field in inner:
            if self._room <= 0:
                break
            self._keep(field)
            self._end_cell()
        self._state = _State.START
        if fields[-1]:
            self._state = _State.PLAIN
            self._add(fields[-1])
        return len(piece)

    def _quoted(self, piece: str, position: int) -> int:
        end = piece.find(QUOTE, position)
        if end < 0:
            self._add(piece[position:])
            return len(piece)
        self._add(piece[position:end])
        self._state = _State.QUOTE
        return end + 1

    def _after_quote(self, piece: str, position: int) -> int:
        following = piece[position]
        if following == QUOTE:
            self._add(QUOTE)
            self._state = _State.QUOTED
            return position + 1
        if following == self._delimiter:
            return self._next_field(position)
        self._malformed = following not in "\r\n"
        return len(piece)

    def _next_field(self, position: int) -> int:
        self._end_field()
        self._state = _State.START
        return position + len(self._delimiter)

    def _end_field(self) -> None:
        self._fields += 1
        if self._bytes > self._longest[1]:
            self._longest = (self._fields, self._bytes)
        self._bytes = 0
        self._end_cell()

    def _end_cell(self) -> None:
        if self._room > 0:
            self._cells.append("".join(self._parts))
        self._parts.clear()
        # The delimiter counts too, or a record of empty fields would never use up the room.
        self._room -= 1

    def _add(self, text: str) -> None:
        self._bytes += len(text.encode())
        self._keep(text)

    def _keep(self, text: str) -> None:
        if self._room > 0:
            self._parts.append(text[: self._room])
            self._room -= len(text)
