"""Why an operator ordered something, as typed; it is kept in records for as long as these are."""

from __future__ import annotations

from cli.errors import CommandError

LONGEST = 500
"""Characters. A record keeps the reason of every decision, and DynamoDB holds 400 KB of it."""


def reason_given(text: str, *, needed: bool) -> str:
    """The reason without blanks around it. Raises CommandError."""
    reason = text.strip()
    if needed and not reason:
        raise CommandError("Say why with --reason; it is kept with the decision.")
    if len(reason) > LONGEST:
        raise CommandError(f"The reason has {len(reason):,} characters; {LONGEST} are kept.")
    if not reason.isprintable():
        # Line breaks and escapes, and bytes of the command line that are no UTF-8.
        raise CommandError("The reason holds characters that cannot be printed; write it on one line of plain text.")
    return reason
