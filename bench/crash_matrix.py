"""The crash matrix, in one process: every kind of reply, a kill at every crash point, then deliveries until the end."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from bench.account import Account, account
from bench.leads import leads
from bench.model import REPLIES, Model
from functions.crash_points import Killed, armed, kill_at

_INVOCATION_S = 4.0
_SETTINGS = {"model_deadline_s": 0.5, "lease_grace_s": 0.0, "backoff_base_s": 0.0, "max_receives": 2}
_MOST_POINTS = 60


def crash_matrix(_: str) -> Any:
    """How many requests that may have been billed were made, for all rows together and for the worst one."""

    def run() -> Mapping[str, Any]:
        with account() as aws:
            return _Matrix(aws).run()

    return run


class _Matrix:
    def __init__(self, aws: Account) -> None:
        self._aws = aws
        self._model = Model()
        self._worker = aws.worker(self._model.ask, **_SETTINGS)
        aws.upload("".join(leads(len(REPLIES) * _MOST_POINTS)).encode())
        self._bodies = iter(list(aws.bus.events.values()))

    def run(self) -> Mapping[str, Any]:
        left: list[tuple[str, str]] = []
        points = 0
        for name, reply in REPLIES.items():
            self._model.reply = reply
            reached = self._points()
            points += len(reached)
            for point in reached:
                body = next(self._bodies)
                with contextlib.suppress(Killed):
                    self._deliver(body, 1, kill_at(point))
                left.append((name, body))
        # Every claim that a killed run left is over then.
        time.sleep(_INVOCATION_S + 0.5)
        for name, body in left:
            self._model.reply = REPLIES[name]
            for receives in (1, 2, 2):
                self._deliver(body, receives, lambda _: None)
        ended = self._aws.prospects.scan(FilterExpression="attribute_exists(outcome)")["Items"]
        return {
            "rows": len(left) + len(REPLIES),
            "ended": len(ended),
            "points": points,
            "billed": self._model.billed,
            "worst": max(self._model.billed_by_row.values()),
        }

    def _points(self) -> list[str]:
        """The crash points that a row with this reply comes by, up to its end."""
        reached: dict[str, None] = {}
        body = next(self._bodies)
        for receives in (1, 2):
            self._deliver(body, receives, lambda point: reached.update({point: None}))
        return list(reached)

    def _deliver(self, body: str, receives: int, hook: Callable[[str], None]) -> None:
        with armed(hook):
            self._worker.handle([self._aws.received(body, receives)], time.time() + _INVOCATION_S)
