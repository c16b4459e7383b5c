"""Our stacks as a contender: an upload through the bucket, as anybody would bring it."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping

from bench.matrix.audit import Audit
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
from bench.processes import Processes
from local.cloud import LocalCloud

POINTS: Mapping[str, str] = {"before_send": "classify.model.before", "answered": "classify.model.after"}
"""Crash points of classify by the moments of the contract."""
NAMES: Mapping[str, str] = {"worker": "Classify", "publisher": "Intake", "dead_letters": "ClassifyDlq"}
_KEY = "uploads/leads.csv"
_ENDED = frozenset({"done", "paused"})


class Ours:
    """The stacks of this repository."""

    name = "ours"

    def run(self, fault: Fault) -> Ended:
        """Raises MatrixError, LocalCloudError."""
        options = options_of(fault, names=NAMES, hooks=["local.faults.crash_point_hook"], points=POINTS)
        with LocalCloud(options) as cloud:
            return _Run(cloud, fault).run()


class _Run:
    def __init__(self, cloud: LocalCloud, fault: Fault) -> None:
        self._cloud = cloud
        self._fault = fault
        self._audit = Audit(cloud)

    def run(self) -> Ended:
        processes = Processes(self._cloud.process_group, {"worker": self._cloud.outputs["ClassifyFunctionName"]})
        kills = Kills(self._cloud, processes, "worker", self._fault.kills, self._still_open)
        before = alarms_at_rest(self._cloud)
        begun = time.monotonic()
        self._bring()
        kills.start()
        try:
            self._wait(begun + PATIENCE_S)
        finally:
            kills.stop()
        if kills.done != self._fault.kills:
            raise MatrixError(f"{self._fault.name}: {kills.done} kills happened, {self._fault.kills} were wanted")
        refuse_uninjected(self._cloud, self._fault)
        return self._count(time.monotonic() - begun, before)

    def _bring(self) -> None:
        s3, bucket = self._cloud.client("s3"), self._cloud.outputs["UploadsBucketName"]
        text = rows_of(self._fault)
        version = s3.put_object(Bucket=bucket, Key=_KEY, Body=text.encode())["VersionId"]
        if self._fault.action == "two_versions":
            s3.put_object(Bucket=bucket, Key=_KEY, Body=reversed_rows(text).encode())
        elif self._fault.action == "event_twice":
            named = {"key": _KEY, "size": len(text), "version-id": version}
            event = {
                "detail-type": "Object Created",
                "source": "aws.s3",
                "detail": {"bucket": {"name": bucket}, "object": named},
            }
            self._cloud.client("lambda").invoke(
                FunctionName=self._cloud.outputs["IntakeFunctionName"],
                InvocationType="Event",
                Payload=json.dumps(event).encode(),
            )

    def _still_open(self) -> bool:
        audit = Audit(self._cloud)
        audit.look()
        return any(upload.state == "running" for upload in audit.uploads)

    def _wait(self, deadline: float) -> None:
        """Until every upload has ended and no message is left that could start anything."""
        while not (self._all_ended() and self._queue_is_empty()):
            if time.monotonic() > deadline:
                states = ", ".join(upload.state for upload in self._audit.uploads) or "not taken in"
                ended = f"{len(self._audit.rows)} rows ended ({states})"
                raise MatrixError(f"{self._fault.name}: it still moves after {PATIENCE_S:.0f} s; {ended}")
            time.sleep(LOOK_S)
            self._audit.look()

    def _all_ended(self) -> bool:
        expected = 2 if self._fault.action == "two_versions" else 1
        uploads = self._audit.uploads
        return len(uploads) == expected and all(upload.state in _ENDED for upload in uploads)

    def _queue_is_empty(self) -> bool:
        names = ["", "NotVisible", "Delayed"]
        attributes = self._cloud.client("sqs").get_queue_attributes(
            QueueUrl=self._cloud.outputs["ClassifyQueueUrl"],
            AttributeNames=[f"ApproximateNumberOfMessages{name}" for name in names],
        )["Attributes"]
        return all(int(value) == 0 for value in attributes.values())

    def _count(self, seconds: float, before: Mapping[str, int]) -> Ended:
        self._audit.look()
        counts, waiting = self._cloud.model_counts(), self._audit.waiting()
        where = Counter[str](row.outcome for row in self._audit.rows)
        return Ended(
            rows=self._fault.rows,
            deliveries=self._cloud.deliveries().get(self._cloud.outputs["ClassifyFunctionName"], 0),
            model_requests=counts["model_requests"],
            may_have_been_billed=counts["may_have_been_billed"],
            worst_row=counts["worst_row"],
            stored_outcomes=self._audit.stored_outcomes(),
            lost=self._audit.lost(self._fault.rows),
            where={**where, **({"paused": waiting} if waiting else {})},
            dead_letters=sum(self._cloud.dead_letters().values()),
            alarms=alarms_of(self._cloud, before),
            seconds=seconds,
        )
