"""What every contender of the fault matrix is given, and what it reports: the one contract between them.

A contender runs each fault in a local cloud of its own, with real handler processes, and reports what an auditor would
ask. Nothing here knows how a contender works.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Moment = Literal["before_send", "sent", "answered"]
"""Of one row in a handler: `before_send`: its attempt is claimed, where the contender claims, and nothing has left.
`sent`: the request has left whole and no answer was read. `answered`: the answer was read, nothing of it is stored."""

Does = Literal["raise", "sleep", "kill"]
"""`raise`: an exception, at `sent` one that nothing catches (a library would take any other for the transport's).
`sleep`: past the function's timeout. `kill`: the process kills itself with SIGKILL."""


@dataclass(frozen=True)
class HandlerFault:
    """The first `times` arrivals at `at`, over all handler processes of the cloud together, do `does`."""

    at: Moment
    does: Does
    times: int = 1


Action = Literal["once", "event_twice", "two_versions"]
"""How the rows come in. `event_twice`: the event of one upload is delivered twice, at once. `two_versions`: the same
rows are uploaded twice under one name, the second time in reverse order and before the first was taken in."""


@dataclass(frozen=True)
class Fault:
    """One line of the matrix: everything that is done to a contender, and nothing else is.

    `claude`: rules of the stand-in (`local/claude/script.py`). `aws`: rules of `local/faults/rules.py`, in which
    "<worker>", "<publisher>" and "<dead_letters>" stand for parts of the contender's own names (two functions, the
    worker's dead-letter queue). `kills`: SIGKILLs of the worker's processes at random moments while rows are open.
    `context`: settings of our stacks beyond `bench.matrix.ground.CONTEXT`; the others take those that they have too.
    """

    name: str
    injects: str
    rows: int = 20
    claude: Sequence[Mapping[str, Any]] = ()
    aws: Sequence[Mapping[str, Any]] = ()
    handler: HandlerFault | None = None
    kills: int = 0
    action: Action = "once"
    context: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ended:
    """What became of the rows when nothing moved any more.

    `deliveries`: rows handed to a worker's invocation, each time counted. `model_requests`: read to the end by the
    stand-in. `may_have_been_billed`: all that reached it but those answered with an error that costs nothing.
    `worst_row`: the most of these made for one row. `stored_outcomes`: rows with a stored answer or a stored final
    failure. `lost`: rows with neither, of which no unknown is said, and which no dead-letter queue and no pause holds.
    `where`: rows by how they ended. `dead_letters`: messages in dead-letter queues. `alarms`: those that went to ALARM.
    `applies`: False where the contender has nothing that this fault could hit; then the numbers mean nothing.
    """

    rows: int
    deliveries: int
    model_requests: int
    may_have_been_billed: int
    worst_row: int
    stored_outcomes: int
    lost: int
    where: Mapping[str, int]
    dead_letters: int = 0
    alarms: Sequence[str] = ()
    seconds: float = 0.0
    applies: bool = True

    @property
    def billed_per_row(self) -> float:
        return self.may_have_been_billed / self.rows if self.rows else 0.0


class Contender(Protocol):
    """A stack under test."""

    @property
    def name(self) -> str: ...

    def run(self, fault: Fault) -> Ended:
        """Start a local cloud, do to it what `fault` says, wait until nothing moves, and count."""
