"""What the columns of a file mean: a table of spellings, and the rules for matching a header against it.

A header is matched without regard to case, to white space and zero-width characters at its edges, to a closing `:` or
`*`, and to spaces, `_`, `-`, `.` and `/` anywhere: `E-mail`, `e_mail` and `EMAIL:` are one spelling, as are
`First Name`, `first-name` and `FirstName`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from functions.intake.text import trim

EMAIL, NAME, FIRST_NAME, LAST_NAME = "email", "name", "first name", "last name"

# Canonical column -> groups of spellings, best group first. The columns of the best group that a file has are the
# column; two of one group are a duplicate header. Columns of a later group are then columns like any other: a HubSpot
# file may have `Company name` and `Associated Company`, an Outlook file `Job Title` and a `Title` that says Dr.
# Sources: HubSpot's and Salesforce's default export columns and field labels, Outlook's and Google's contact CSV.
ALIASES: dict[str, tuple[tuple[str, ...], ...]] = {
    EMAIL: (
        ("email", "e-mail", "email address", "e-mail address", "mail", "email id"),
        ("work email", "work e-mail", "work email address", "business email", "business email address"),
        ("primary email", "primary email address", "contact email", "contact email address", "lead email"),
        ("email 1", "e-mail 1 - value", "email 1 value"),
    ),
    NAME: (
        ("name", "full name"),
        ("contact name", "contact full name", "lead name", "prospect name", "person name", "contact", "display name"),
    ),
    FIRST_NAME: (("first name", "firstname", "given name", "forename", "first"), ("contact first name",)),
    LAST_NAME: (("last name", "lastname", "surname", "family name", "last"), ("contact last name",)),
    "company": (
        ("company", "company name", "organisation", "organization", "organisation name", "organization name"),
        ("company / account", "account name", "account", "employer", "business name"),
        ("associated company", "primary associated company", "primary company", "current company"),
    ),
    "title": (
        ("job title", "position", "job position"),
        ("title",),
        ("role", "job role", "contact title", "organization title", "organisation title"),
    ),
    "notes": (
        ("notes", "note"),
        ("comments", "comment", "remarks"),
        ("description", "lead description", "message", "additional notes"),
    ),
}

_SEPARATORS = re.compile(r"[\s_./-]+")
_SPACES = re.compile(r"\s+")


def folded(header: str) -> str:
    """The name under which an unknown column's text is kept: trimmed, case-folded, inner white space as one space."""
    return _SPACES.sub(" ", trim(header).casefold())


def spelling(header: str) -> str:
    """What two headers have in common when they are one spelling of the alias table."""
    return _SEPARATORS.sub("", unicodedata.normalize("NFKC", folded(header)).casefold()).rstrip(":*")


_RANKS = {
    spelling(alias): (canonical, rank)
    for canonical, groups in ALIASES.items()
    for rank, group in enumerate(groups)
    for alias in group
}


@dataclass(frozen=True, slots=True)
class Header:
    """A resolved header; all tuples have one entry per column, up to the last column that has a header.

    `written`: as in the file, trimmed. `columns`: the canonical name or None. `keys`: the name under which the cell's
    text is kept, None for a column without a header and for one whose header is a canonical name another column took.
    `duplicates`: column numbers (from 1) that share one key, with that key's canonical name or None.
    """

    written: tuple[str, ...]
    columns: tuple[str | None, ...]
    keys: tuple[str | None, ...]
    duplicates: tuple[tuple[tuple[int, ...], str | None], ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """`email`, `name` or both: what is required and not there. A name may come as first and last name."""
        found = set(self.columns)
        named = NAME in found or {FIRST_NAME, LAST_NAME} <= found
        return (() if EMAIL in found else (EMAIL,)) + (() if named else (NAME,))


def resolve(cells: Sequence[str]) -> Header:
    """The meaning of a header record. Empty trailing headers are dropped; nothing is refused here."""
    written = [trim(cell) for cell in cells]
    while written and not written[-1]:
        written.pop()
    ranked = [_RANKS.get(spelling(name)) for name in written]
    best: dict[str, int] = {}
    for canonical, rank in filter(None, ranked):
        best[canonical] = min(rank, best.get(canonical, rank))
    columns = tuple(found[0] if found and best[found[0]] == found[1] else None for found in ranked)
    keys = tuple(_key(name, canonical) for name, canonical in zip(written, columns, strict=True))
    return Header(tuple(written), columns, keys, _duplicates(keys))


def _key(written: str, canonical: str | None) -> str | None:
    if canonical is not None:
        return canonical
    key = folded(written)
    # Beside a better column, e.g. a `Title` beside a `Job Title`: its text must not pass for the canonical one.
    return key if key and key not in ALIASES else None


def _duplicates(keys: Sequence[str | None]) -> tuple[tuple[tuple[int, ...], str | None], ...]:
    places: dict[str, list[int]] = {}
    for number, key in enumerate(keys, 1):
        if key is not None:
            places.setdefault(key, []).append(number)
    return tuple(
        (tuple(numbers), key if key in ALIASES else None) for key, numbers in places.items() if len(numbers) > 1
    )


def spellings(canonical: str, count: int = 4) -> str:
    """The first spellings of a canonical column, for a sentence: `Email, E-Mail, Email Address`."""
    return ", ".join(alias.title() for alias in ALIASES[canonical][0][:count])
