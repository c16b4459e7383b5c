"""One tick: what was lost or changed elsewhere is looked for, then each open upload that is due is looked at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from aws_lambda_powertools import Logger

from functions.clock import Clock
from functions.failures import describe
from functions.finish.attention import Attention
from functions.finish.look import Look
from functions.finish.lost_objects import LostObjects
from functions.uploads.model import OpenUpload
from functions.uploads.table import UploadsTable

logger = Logger(service="finish")

RESERVE_S = 5.0
"""No further look is begun with less of the invocation left."""
SHARE = 4
"""The looks at uploads come last; what comes before them takes one part in so many of what is left of the time."""
_T = TypeVar("_T")


class TickFailedError(Exception):
    """Some uploads or rounds could not be looked at; the others were. Raised last, so that the alarm rings."""

    def __init__(self, broken: list[str]) -> None:
        super().__init__(f"{len(broken)} could not be looked at: {', '.join(broken)}")


class Tick:
    """The work of one invocation, which is killed at `claimed_until` and begins nothing after `until`."""

    def __init__(
        self,
        *,
        table: UploadsTable,
        look: Look,
        attention: Attention,
        lost_objects: LostObjects,
        claimed_until: int,
        until: float,
        clock: Clock,
    ) -> None:
        self._table = table
        self._look = look
        self._attention = attention
        self._lost_objects = lost_objects
        self._claimed_until = claimed_until
        self._until = until
        self._clock = clock
        self._broken: list[str] = []

    def run(self) -> dict[str, int]:
        """How many looks ended how. Raises TickFailedError after the last."""
        ends: Counter[str] = Counter()
        opened = list(self._table.open_uploads())
        if self._clock() <= self._until:
            asked = self._tried("the objects", self._find_objects)
            ends["asked_intake"] += asked or 0
            opened += self._tried("the rows that may change", lambda: self._find_changed(opened)) or []
        for seen in opened:
            if seen.next_look_at > self._clock():
                ends["not_due"] += 1
            elif self._clock() > self._until:
                ends["out_of_time"] += 1
            elif end := self._tried(seen.upload_id, lambda seen=seen: self._look.at(seen)):  # type: ignore[misc]
                ends[end] += 1
        ends = +ends
        logger.info("tick", extra={"looks": dict(ends), "failed": len(self._broken)})
        if self._broken:
            raise TickFailedError(self._broken)
        return dict(ends)

    def _find_objects(self) -> int:
        return self._lost_objects.find(claimed_until=self._claimed_until, until=self._share())

    def _find_changed(self, opened: list[OpenUpload]) -> list[OpenUpload]:
        still_open = {seen.upload_id for seen in opened}
        return self._attention.find(still_open, claimed_until=self._claimed_until, until=self._share())

    def _share(self) -> float:
        now = self._clock()
        return now + (self._until - now) / SHARE

    def _tried(self, name: str, step: Callable[[], _T]) -> _T | None:
        try:
            return step()
        except Exception as error:  # noqa: BLE001 - what cannot be read must not keep the others from ending
            logger.error("a look failed", extra={"of": name, **describe(error)})
            self._broken.append(name)
            return None
