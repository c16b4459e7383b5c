"""When an open upload's rows are counted, and when they are swept: often while that costs nothing, ever more rarely
as rows grow. Pure.

Only the exact count decides that an upload is complete; what stands here only decides how often it is taken.
"""

from __future__ import annotations

import math
from typing import Literal

SECONDS_PER_ROW = 300e-6
"""The least pause per row of the upload. A count reads every item there is, so with a pause that grows with the rows
the number of counts of one upload depends on how fast rows end, not on how many there are: looking is O(rows)."""
LONGEST_PAUSE_S = 900.0
"""An upload that stands still and then goes on is found within this time (or its least pause, if that is longer)."""
ATTENTION_SECONDS_PER_ROW = 0.03
"""The least pause per row whose outcome may still change. Such rows may wait for a person for weeks, so what looking
them all up costs a day must not grow with them: 33 a second at most, some 0.40 USD a day."""
LONGEST_ATTENTION_PAUSE_S = 6 * 3600.0

Stillness = Literal["quiet", "stalled", ""]


def pause_before_next_count(
    *, valid: int, terminal: int, elapsed_s: float, tick_s: float, within_s: float = math.inf
) -> float:
    """Seconds until the next count of an upload of `valid` rows, `terminal` of them ended `elapsed_s` after its start.

    Half the estimated rest, because rows speed up; at most a quarter of what has passed, so the end is never seen much
    later than it came; at most `within_s`, where something else is then due.
    """
    least = max(tick_s, valid * SECONDS_PER_ROW)
    elapsed_s = max(elapsed_s, 0.0)
    estimated_rest = (valid - terminal) * elapsed_s / terminal if terminal else elapsed_s
    return max(least, min(estimated_rest / 2, elapsed_s / 4, LONGEST_PAUSE_S, within_s))


def pause_before_next_attention(rows: int, tick_s: float) -> float:
    """Seconds until rows whose outcome may still change, of which there are so many, are looked up again."""
    return max(tick_s, min(rows * ATTENTION_SECONDS_PER_ROW, LONGEST_ATTENTION_PAUSE_S))


def stillness(*, now: float, moved_at: float, empty_since: float | None, quiet_s: float, stall_s: float) -> Stillness:
    """Whether an upload with open rows is to be swept. Times are seconds since the epoch.

    "quiet": nothing has been in the queue and no row has ended for `quiet_s`. "stalled": rows alone have stood still,
    for `stall_s`; they may be waiting behind others.
    """
    still_s = now - moved_at
    if empty_since is not None and still_s >= quiet_s and now - empty_since >= quiet_s:
        return "quiet"
    return "stalled" if still_s >= stall_s else ""
