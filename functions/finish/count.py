"""When an open upload's rows are counted: often while that costs nothing, ever more rarely as rows grow. Pure.

Only the exact count decides that an upload is complete; what stands here only decides how often it is taken.
"""

from __future__ import annotations

SECONDS_PER_ROW = 300e-6
"""The least pause per row of the upload. A count reads every item there is, so with a pause that grows with the rows
the number of counts of one upload depends on how fast rows end, not on how many there are: looking is O(rows)."""
LONGEST_PAUSE_S = 900.0
"""An upload that stands still and then goes on is found within this time (or its least pause, if that is longer)."""


def pause_before_next_count(*, valid: int, terminal: int, elapsed_s: float, tick_s: float) -> float:
    """Seconds until the next count of an upload of `valid` rows, `terminal` of them ended `elapsed_s` after admission.

    Half the estimated rest, because rows speed up; at most a quarter of what has passed, so the end is never seen much
    later than it came.
    """
    least = max(tick_s, valid * SECONDS_PER_ROW)
    elapsed_s = max(elapsed_s, 0.0)
    estimated_rest = (valid - terminal) * elapsed_s / terminal if terminal else elapsed_s
    return max(least, min(estimated_rest / 2, elapsed_s / 4, LONGEST_PAUSE_S))
