"""When a message comes back: seconds of visibility, whole numbers as SQS wants them. Pure."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field

MAX_SEND_DELAY_S = 900
"""Longest DelaySeconds of a message (SQS quota)."""
MAX_VISIBILITY_S = 43_200
"""Longest visibility timeout (SQS quota), counted from the receive."""


@dataclass(frozen=True)
class Delays:
    """Back-off between `base_s` and `max_s`, with jitter so that rows that failed together do not return together."""

    base_s: float
    max_s: float
    rng: random.Random = field(default_factory=random.Random)

    def back_off(self, receives: int) -> int:
        """Doubles with every receive; between half and all of it, drawn anew."""
        longest = min(self.max_s, self.base_s * 2.0 ** min(max(receives - 1, 0), 32))
        return _whole(longest * self.rng.uniform(0.5, 1.0), MAX_VISIBILITY_S)

    def after(self, seconds: float) -> int:
        """Not before `seconds` from now (a retry-after, the rest of a lease), and up to `base_s` later."""
        return _whole(max(0.0, seconds) + self.rng.uniform(0.0, self.base_s), MAX_VISIBILITY_S)

    def send_delay(self, seconds: float) -> int:
        """The same for a copy of a message, within what SQS takes; what that cuts off is waited for later."""
        return min(self.after(seconds), MAX_SEND_DELAY_S)


def _whole(seconds: float, at_most: int) -> int:
    return min(math.ceil(seconds), at_most)
