"""The matrix as lines of text, and which bars of ours did not hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.matrix.contender import Ended, Fault

HELD_BY = "ours"
"""The contender that the bars are for; the others are there to be looked at."""
MOST_BILLED_PER_ROW = 1.0


@dataclass(frozen=True)
class Line:
    """One contender under one fault."""

    fault: Fault
    contender: str
    ended: Ended

    @property
    def broken(self) -> list[str]:
        """What did not hold; empty for contenders that hold nothing."""
        if self.contender != HELD_BY:
            return []
        ended = self.ended
        final = ended.where.get("classified", 0) + ended.where.get("failed", 0)
        checks = {
            f"{ended.billed_per_row:.3f} requests a row may have been billed": ended.billed_per_row
            <= MOST_BILLED_PER_ROW,
            f"{ended.worst_row} requests for one row may have been billed": ended.worst_row <= MOST_BILLED_PER_ROW,
            f"{ended.lost} rows lost": ended.lost == 0,
            f"{ended.stored_outcomes} outcomes stored for {final} shown": ended.stored_outcomes == final,
        }
        return [f"{self.fault.name}: {what}" for what, held in checks.items() if not held]

    def to_json(self) -> dict[str, Any]:
        return {
            "fault": self.fault.name,
            "injects": self.fault.injects,
            "contender": self.contender,
            **asdict(self.ended),
            "billed_per_row": round(self.ended.billed_per_row, 3),
        }


HEADER = (
    f"{'fault':<52}{'contender':<11}{'rows':>5}{'deliveries':>12}{'billed?':>9}{'a row':>8}{'worst':>7}"
    f"{'stored':>8}{'lost':>6}  where, and alarms"
)


def rendered(line: Line, *, first: bool) -> str:
    """`first`: the first contender of its fault, which names it."""
    ended = line.ended
    named = f"{line.fault.injects if first else '':<52}{line.contender:<11}"
    if not ended.applies:
        return f"{named}{ended.rows:>5}  nothing here that this fault could hit"
    ends = [*(f"{count} {end}" for end, count in sorted(ended.where.items()))]
    if ended.dead_letters:
        ends.append(f"{ended.dead_letters} in a DLQ")
    alarms = f"; {', '.join(_short(ended.alarms))}" if ended.alarms else ""
    return (
        f"{named}{ended.rows:>5}{ended.deliveries:>12}{ended.may_have_been_billed:>9}{ended.billed_per_row:>8.3f}"
        f"{ended.worst_row:>7}{ended.stored_outcomes:>8}{ended.lost:>6}  {', '.join(ends)}{alarms}"
    )


def totals(lines: Sequence[Line]) -> Iterable[str]:
    """Over all faults, one line a contender."""
    for contender in dict.fromkeys(line.contender for line in lines):
        own = [line.ended for line in lines if line.contender == contender and line.ended.applies]
        rows, billed = sum(ended.rows for ended in own), sum(ended.may_have_been_billed for ended in own)
        worst, lost = max(ended.worst_row for ended in own), sum(ended.lost for ended in own)
        yield (
            f"{'all faults' if contender == lines[0].contender else '':<52}{contender:<11}{rows:>5}"
            f"{sum(ended.deliveries for ended in own):>12}{billed:>9}{billed / rows:>8.3f}{worst:>7}"
            f"{sum(ended.stored_outcomes for ended in own):>8}{lost:>6}"
        )


def _short(alarms: Sequence[str]) -> list[str]:
    """Without the name of the deployment that they all begin with."""
    return [name.partition("-")[2] or name for name in alarms]
