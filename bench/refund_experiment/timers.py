"""How long things take, in seconds: short enough to wait for, and in the order that makes each injection one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timers:
    """`hidden_s`: how long a received message is hidden, six timeouts of the function, as AWS advises: with less, a
    batch that waits for a free handler comes twice before anything failed. `patience_s`: how long
    nothing may move before a run is given up.

    A call that pauses still ends within its function's timeout, after everybody stopped waiting for it.
    """

    function_s: int
    hidden_s: int
    waits_s: int = 2
    pause_s: int = 4
    provider_s: int = 2
    patience_s: float = 600.0

    def __post_init__(self) -> None:
        if not (
            self.waits_s < self.pause_s < self.function_s - self.provider_s - 2 and self.hidden_s >= 6 * self.function_s
        ):
            raise ValueError("these timers make no experiment")


LOCAL = Timers(function_s=9, hidden_s=54)
ACCOUNT = Timers(function_s=15, hidden_s=90)
