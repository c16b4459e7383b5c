"""The naive stacks as contenders of the fault matrix."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from bench.matrix.contender import Ended, Fault
from bench.matrix.ground import (
    LOOK_S,
    PATIENCE_S,
    MatrixError,
    alarms_at_rest,
    alarms_of,
    options_of,
    refuse_uninjected,
    reversed_rows,
    rows_of,
)
from bench.matrix.kills import Kills
from bench.matrix.naive.applies import HOOKS, NAMES, POINTS, applies
from bench.matrix.naive.cloud import NaiveCloud
from bench.matrix.naive.ending import answered, dead, waiting
from bench.matrix.naive.publisher import publish
from bench.matrix.naive.template import FUNCTION, VISIBILITY_PER_TIMEOUT, Worker, task_of
from bench.processes import Processes


@dataclass(frozen=True)
class Naive:
    """`visibility_per_timeout`: how long a received message is hidden, in timeouts of the function; `handlers`: how
    many run at once.

    A message is received again when it is no longer hidden and a handler is free. Where every invocation ends by itself
    and there is one handler, less than AWS advises is therefore only a shorter wait.
    """

    worker: Worker
    visibility_per_timeout: float = VISIBILITY_PER_TIMEOUT
    handlers: int = 2

    @property
    def name(self) -> str:
        return self.worker

    def run(self, fault: Fault) -> Ended:
        """Raises MatrixError, LocalCloudError."""
        if not applies(fault, self.worker):
            return _not_hit(fault)
        options = replace(options_of(fault, names=NAMES, hooks=HOOKS, points=POINTS), handlers=self.handlers)
        with NaiveCloud(self.worker, options, visibility_per_timeout=self.visibility_per_timeout) as cloud:
            return _run(cloud, fault)


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


def _run(cloud: NaiveCloud, fault: Fault) -> Ended:
    before, begun = alarms_at_rest(cloud), time.monotonic()
    processes = Processes(cloud.process_group, {"worker": FUNCTION})
    kills = Kills(cloud, processes, "worker", fault.kills, lambda: waiting(cloud) > 0)
    rows = _bring(cloud, fault)
    kills.start()
    try:
        _wait(cloud, fault, begun + PATIENCE_S)
    finally:
        kills.stop()
    if kills.done != fault.kills:
        raise MatrixError(f"{fault.name}: {kills.done} kills happened, {fault.kills} were wanted")
    refuse_uninjected(cloud, fault)
    return _counted(cloud, fault, rows, before=before, seconds=time.monotonic() - begun)


def _bring(cloud: NaiveCloud, fault: Fault) -> set[str]:
    """Send the rows as the fault says; returns the name of each row."""
    text = rows_of(fault)
    files = {
        "once": [("first", text)],
        "event_twice": [("first", text), ("first", text)],
        "two_versions": [("first", text), ("second", reversed_rows(text))],
    }[fault.action]

    def send(file: tuple[str, str]) -> list[str]:
        version, content = file
        sqs, task = cloud.client("sqs"), task_of(cloud.settings)
        return publish(sqs, cloud.outputs["QueueUrl"], content, task, version=version)

    with ThreadPoolExecutor(len(files)) as together:
        return {row for rows in together.map(send, files) for row in rows}


def _wait(cloud: NaiveCloud, fault: Fault, deadline: float) -> None:
    """Until no message is left: SQS deletes each or moves it to the dead-letter queue, and nothing else moves here."""
    while left := waiting(cloud):
        if time.monotonic() > deadline:
            raise MatrixError(f"{fault.name}: after {PATIENCE_S:.0f} s there still are {left} messages in the queue")
        time.sleep(LOOK_S)


def _counted(cloud: NaiveCloud, fault: Fault, rows: set[str], *, before: Mapping[str, int], seconds: float) -> Ended:
    counts, dead_letters = cloud.model_counts(), sum(cloud.dead_letters().values())
    # Before the dead-letter queue is read, and so emptied.
    alarms = alarms_of(cloud, before)
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
        dead_letters=dead_letters,
        alarms=alarms,
        seconds=seconds,
    )
