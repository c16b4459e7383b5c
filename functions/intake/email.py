"""Which texts are e-mail addresses: a pragmatic rule, for addresses people have, not for all that RFC 5322 allows.

- exactly one `@`, no white space, no comments, no quoted local part, no `Name <address>`;
- local part: a dot-atom (RFC 5322 3.2.3), at most 64 octets (RFC 5321 4.5.3.1.1); letters outside ASCII as in RFC 6531;
- domain: at least two labels of letters, digits and hyphens, at most 63 characters each, no hyphen at an edge
  (RFC 1035 2.3.1); letters of any script (IDN); the last label is not a number, so no IP addresses;
- at most 254 octets in UTF-8 (RFC 5321 4.5.3.1.3, less the angle brackets).

Whether the mailbox exists is not asked.
"""

from __future__ import annotations

import re
import unicodedata

MAX_LOCAL_OCTETS = 64
MAX_ADDRESS_OCTETS = 254
MAX_LABEL = 63

# Possessive: what follows a run of these characters is none of them, so taking less of it never helps.
_ATOM = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]++"
# Its length is looked at afterwards, where an address is long enough for it to matter.
_LABEL = r"[a-z0-9]++(?:-++[a-z0-9]++)*+"
# Matched against lower-case text, in which every character outside ASCII that may stand in a word is an `x`.
_ADDRESS = re.compile(rf"{_ATOM}(?:\.{_ATOM})*+@(?:{_LABEL}\.)+(?![0-9]+$){_LABEL}", re.ASCII)


def normal_address(text: str) -> str | None:
    """The address in lower case, or None when `text` (trimmed by the caller) is not one."""
    address = text.lower()
    plain = address if address.isascii() else _plain(address)
    if not _ADDRESS.fullmatch(plain):
        return None
    # A short address has no long part, and nearly all are short.
    short = len(address) <= MAX_LABEL and plain is address
    return address if short or _short_enough(address) else None


def _short_enough(address: str) -> bool:
    local, _, domain = address.partition("@")
    return (
        len(address.encode()) <= MAX_ADDRESS_OCTETS
        and len(local.encode()) <= MAX_LOCAL_OCTETS
        and max(map(len, domain.split("."))) <= MAX_LABEL
    )


def comparison_key(address: str) -> str:
    """What two spellings of one address have in common: the whole address case-folded, composed (NFC).

    A mail host may tell the cases of a local part apart (RFC 5321 2.4); none that sales meets does.
    """
    return address if address.isascii() else unicodedata.normalize("NFC", address.casefold())


def _plain(address: str) -> str:
    """Letters, marks and digits outside ASCII as `x`; any other character outside ASCII stays and fails the rule."""
    return "".join("x" if char > "\x7f" and unicodedata.category(char)[0] in "LMN" else char for char in address)
