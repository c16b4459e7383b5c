"""One raw record judged: valid, rejected, duplicate or blank, with the reason in a word and in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from functions.intake.duplicates import FirstSeen
from functions.intake.email import comparison_key, normal_address
from functions.intake.framing import Fault, RawRecord
from functions.intake.header import EMAIL, FIRST_NAME, LAST_NAME, NAME, Header
from functions.intake.refusals import Reason
from functions.intake.text import EDGES

_strip = str.strip
RecordOutcome = Literal["valid", "rejected", "duplicate", "blank"]


@dataclass(slots=True)
class Record:
    """One data record of a file.

    `number` counts from 1, blank records too; `line` is its first physical line in the file. `reason` is empty unless
    the outcome is rejected or duplicate; `detail` is then one sentence without any cell's text. `cells` are as read
    (of a record over the limit: cut). `fields` are what is kept of a valid or duplicate record, by canonical name or
    folded header: trimmed, never empty; `email` in lower case; `name` joined from first and last name where needed.
    `duplicate_of` is the number of the valid record that had the same address first.
    """

    number: int
    line: int
    outcome: RecordOutcome
    cells: tuple[str, ...]
    reason: Reason | Literal[""] = ""
    detail: str = ""
    duplicate_of: int | None = None
    fields: dict[str, str] = field(default_factory=dict)


class Validator:
    """Judges the records of one file, in order: a duplicate is one of an earlier valid record."""

    def __init__(self, header: Header) -> None:
        self._keys = header.keys
        # Every column's key, where every column has one: nearly every file.
        self._names = tuple(key for key in header.keys if key)
        self._width = len(header.keys)
        self._all_named = len(self._names) == self._width
        self._seen_first = FirstSeen().of

    def judge(self, raw: RawRecord) -> Record:
        """The first of these that is so decides: a fault of the text, blank, ragged, no or wrong e-mail, no name,
        an address that an earlier valid record had."""
        number, line, cells, fault = raw
        if fault is not None:
            return Record(number, line, "rejected", cells, fault.reason, fault.detail)
        # In ASCII the edges are what `strip` takes by itself, in a third of the time.
        texts = list(map(_strip, cells)) if "".join(cells).isascii() else [cell.strip(EDGES) for cell in cells]
        if all(texts) and self._all_named and len(texts) == self._width:
            fields = dict(zip(self._names, texts))  # noqa: B905 - of one length, and nearly every record comes here
        else:
            fields = {key: text for key, text in zip(self._keys, texts, strict=False) if key and text}
        if not fields and not any(texts):
            return Record(number, line, "blank", cells)
        if len(cells) != self._width:
            fault = self._ragged(cells)
        fault = fault or _complete(fields)
        if fault is not None:
            return Record(number, line, "rejected", cells, fault.reason, fault.detail)
        first = self._seen_first(comparison_key(fields[EMAIL]), number)
        if first != number:
            detail = f"Same e-mail address as record {first}."
            return Record(number, line, "duplicate", cells, "duplicate_in_file", detail, first, fields)
        return Record(number, line, "valid", cells, "", "", None, fields)

    def _ragged(self, cells: tuple[str, ...]) -> Fault | None:
        """Too few fields, or text where there is no header. Empty cells past the header are Excel's, and ignored."""
        width = self._width
        if len(cells) < width:
            return Fault("too_few_fields", f"{_fields(len(cells))}, the header has {width}.")
        used = max((place for place, cell in enumerate(cells, 1) if cell.strip(EDGES)), default=0)
        if used > width:
            return Fault("too_many_fields", f"{_fields(used)}, the header has {width}.")
        return None


def _complete(fields: dict[str, str]) -> Fault | None:
    """Bring address and name into their kept form; the fault when either is not there."""
    written = fields.get(EMAIL)
    if written is None:
        return Fault("missing_email", "The e-mail address is empty.")
    address = normal_address(written)
    if address is None:
        return Fault("invalid_email", "The e-mail address is not valid; one such as somebody@example.com is expected.")
    fields[EMAIL] = address
    if NAME not in fields:
        # A file without a name column, or a contact of whom only the parts were filled in: one part is enough.
        parts = [fields[part] for part in (FIRST_NAME, LAST_NAME) if part in fields]
        if not parts:
            return Fault("missing_name", "The name is empty.")
        fields[NAME] = " ".join(parts)
    return None


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"
