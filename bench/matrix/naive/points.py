"""The moments of a row in a naive handler, made around the SDK's one call from outside its code.

Loaded into the handler processes by `local.faults`, never shipped and never imported by what is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

BEFORE_SEND, ANSWERED = "naive.before_send", "naive.answered"


def install(arrived: Callable[[str], None]) -> None:
    """The call is made inside the guarded function: before it, stock has claimed; after it, nothing is stored yet."""
    # Only here: who needs the names alone need not wait seconds for the SDK.
    from anthropic.resources.messages import Messages  # noqa: PLC0415

    create = Messages.create

    def followed(self: Messages, **arguments: Any) -> Any:
        arrived(BEFORE_SEND)
        message = create(self, **arguments)
        arrived(ANSWERED)
        return message

    Messages.create = followed  # type: ignore[method-assign]
