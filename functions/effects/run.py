"""One call of a guarded function: who owns it, how long it lives, and what the store said of it.

Powertools passes the store nothing but the record, so the run travels in a context variable.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from functions.effects.errors import NoRunError

if TYPE_CHECKING:
    from functions.effects.record import EffectRecord


def _new_owner() -> str:
    # Minted for each claim call: a request id, an invocation and a sandbox all repeat, and would pass the fence.
    return secrets.token_hex(16)


@dataclass
class Run:
    """The state of one guarded call.

    `deadline`: when the invocation is killed, seconds since the epoch. `origin`: what asked for the effect, kept in
    the record. After the call, `record` is what is stored (of this run or of whoever came first), `fresh` tells
    whether this run made the attempt, and `lease_until` is set when somebody else's live claim was met.
    """

    deadline: float
    origin: str = ""
    owner: str = field(default_factory=_new_owner)
    attempt: int | None = None
    sent: bool = False
    record: EffectRecord | None = None
    lease_until: float | None = None

    @property
    def fresh(self) -> bool:
        return self.attempt is not None

    def mark_sent(self) -> None:
        """From here on the effect may have happened. Called immediately before the request leaves."""
        self.sent = True


_current: ContextVar[Run] = ContextVar("run")


@contextmanager
def new_run(*, deadline: float, origin: str = "") -> Iterator[Run]:
    """Open the run that the next guarded call in this context belongs to; one call per run."""
    run = Run(deadline=deadline, origin=origin)
    token = _current.set(run)
    try:
        yield run
    finally:
        _current.reset(token)


def current_run() -> Run:
    try:
        return _current.get()
    except LookupError:
        raise NoRunError("a guarded function was called outside new_run(...)") from None
