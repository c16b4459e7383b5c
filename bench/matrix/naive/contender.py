"""The naive stacks as contenders of the fault matrix."""

from __future__ import annotations

import json
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bench.leads import leads
from bench.matrix.contender import Ended, Fault
from bench.matrix.naive.applies import applies, handler_faults, service_faults
from bench.matrix.naive.cloud import NaiveCloud
from bench.matrix.naive.ending import answered, dead, waiting
from bench.matrix.naive.kills import RandomKills
from bench.matrix.naive.publisher import publish
from bench.matrix.naive.template import FUNCTION, MAX_RECEIVES, VISIBILITY_PER_TIMEOUT, Worker, task_of
from local.options import LocalCloudOptions

NAMES: dict[Worker, str] = {"stock": "stock Powertools", "bare": "bare SDKs"}
_LOOK_S = 0.02
_SLOWEST_ROW_S = 1.0
_START_S = 60.0


class StuckError(Exception):
    """Rows did not end in time; the message says how many."""


@dataclass(frozen=True)
class NaiveContender:
    """`visibility_per_timeout`: how long a received message is hidden, in timeouts of the function. `handlers`: how
    many run at once.

    With one handler nothing is received while it runs, so where invocations end by themselves a message may be hidden
    for a shorter time than AWS advises without another delivery: only the wait is shorter.
    """

    worker: Worker
    visibility_per_timeout: float = VISIBILITY_PER_TIMEOUT
    handlers: int = 2

    @property
    def name(self) -> str:
        return NAMES[self.worker]

    def run(self, fault: Fault) -> Ended:
        """Raises StuckError, LocalCloudError."""
        if not applies(fault):
            return _not_hit(fault)
        with tempfile.TemporaryDirectory() as folder:
            options = LocalCloudOptions(
                claude_script=_script(fault, Path(folder)),
                handlers=self.handlers,
                context=fault.context,
                service_faults=service_faults(fault),
                handler_faults=handler_faults(fault.handler),
            )
            with NaiveCloud(self.worker, options, visibility_per_timeout=self.visibility_per_timeout) as cloud:
                begun = time.monotonic()
                _publish(cloud, fault)
                _wait(cloud, self._patience_s(cloud, fault), RandomKills(cloud, fault.rows, fault.kills))
                return _counted(cloud, fault, time.monotonic() - begun)

    def _patience_s(self, cloud: NaiveCloud, fault: Fault) -> float:
        hidden_s = self.visibility_per_timeout * cloud.settings.classify_timeout_s
        return _START_S + MAX_RECEIVES * hidden_s + (fault.rows + 10 * fault.kills) * _SLOWEST_ROW_S


def _not_hit(fault: Fault) -> Ended:
    return Ended(
        rows=fault.rows,
        deliveries=0,
        model_requests=0,
        may_have_been_billed=0,
        worst_row=0,
        stored_outcomes=0,
        lost=0,
        where={},
        applies=False,
    )


def _script(fault: Fault, folder: Path) -> Path | None:
    if not fault.claude:
        return None
    path = folder / "script.json"
    path.write_text(json.dumps(list(fault.claude)))
    return path


def _publish(cloud: NaiveCloud, fault: Fault) -> None:
    content, task = "".join(leads(fault.rows)), task_of(cloud.settings)

    def send(_: int = 0) -> None:
        publish(cloud.client("sqs"), cloud.outputs["QueueUrl"], content, task)

    if fault.action == "event_twice":
        with ThreadPoolExecutor(2) as both:
            list(both.map(send, range(2)))
    else:
        for _ in range(2 if fault.action == "two_versions" else 1):
            send()


def _wait(cloud: NaiveCloud, patience_s: float, kills: RandomKills) -> None:
    deadline = time.monotonic() + patience_s
    while left := waiting(cloud):
        if time.monotonic() > deadline:
            raise StuckError(f"{left} messages were still in the queue after {patience_s:.0f} s")
        kills.strike()
        time.sleep(_LOOK_S)
    if not kills.over:
        raise StuckError("the rows were through before the last kill")


def _counted(cloud: NaiveCloud, fault: Fault, seconds: float) -> Ended:
    counts, rows = cloud.model_counts(), {str(number) for number in range(1, fault.rows + 1)}
    classified = answered(cloud)
    given_up = dead(cloud) - classified
    lost = rows - classified - given_up
    where = {"classified": len(classified), "dead letter": len(given_up), "lost": len(lost)}
    return Ended(
        rows=fault.rows,
        deliveries=cloud.deliveries().get(FUNCTION, 0),
        model_requests=counts["model_requests"],
        may_have_been_billed=counts["may_have_been_billed"],
        worst_row=counts["worst_row"],
        stored_outcomes=len(classified),
        lost=len(lost),
        where={end: count for end, count in where.items() if count},
        seconds=seconds,
    )
