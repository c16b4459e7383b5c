"""One look at one open upload, by one tick at a time: what is to be told is told, then it is brought a step further.

Where it stands decides the step: its publisher is continued, its rows are counted, they are swept, or it is finished.
A tick that is killed anywhere leaves the upload open, and the next one does the same again.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_lambda_powertools import Logger

from functions.clock import Clock
from functions.crash_points import crossing
from functions.finish.announce import Announcer
from functions.finish.attention import Attention
from functions.finish.complete import Completion
from functions.finish.count import LONGEST_PAUSE_S, pause_before_next_count, stillness
from functions.finish.counting import FINISHED, PAUSED
from functions.finish.sweep import Sweep
from functions.finish.work_queue import WorkQueue
from functions.metrics import Count
from functions.uploads.model import Announcement, OpenUpload, Progress, Upload
from functions.uploads.table import UploadsTable

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

logger = Logger(service="finish", child=True)


@dataclass(frozen=True)
class Pace:
    """Seconds: the period of the ticks, and how long an upload must have stood still to be swept."""

    tick_s: float
    quiet_s: float
    stall_s: float


@dataclass(frozen=True)
class Ended:
    """How a look ended, in how many seconds the next is worth while, and what was seen. No pause: it is closed."""

    how: str
    pause_s: float | None = None
    seen: Progress | None = None


class Look:
    """Looks at uploads until `until`; a claim of a look ends with the invocation, at `claimed_until`."""

    def __init__(
        self,
        *,
        table: UploadsTable,
        completion: Completion,
        announcer: Announcer,
        attention: Attention,
        sweep: Sweep,
        queue: WorkQueue,
        lambda_client: LambdaClient,
        intake_function: str,
        pace: Pace,
        claimed_until: int,
        until: float,
        clock: Clock,
        count: Count,
    ) -> None:
        self._table = table
        self._completion = completion
        self._announcer = announcer
        self._attention = attention
        self._sweep = sweep
        self._queue = queue
        self._lambda = lambda_client
        self._intake_function = intake_function
        self._pace = pace
        self._claimed_until = claimed_until
        self._until = until
        self._clock = clock
        self._count = count

    def at(self, seen: OpenUpload) -> str:
        """How the look ended."""
        # The claim ends with this invocation: a tick that is killed holds nobody up for longer than it could have run.
        if not self._table.claim_look(seen, self._claimed_until):
            return "taken"
        upload = self._table.get_upload(seen.upload_id)
        if upload is None:
            raise LookupError("an open upload has no META item")
        if seen.announcement is not None:
            self._announce(upload, seen.announcement)
            if seen.announcement.kind == "finished":
                return "finished"
        ended = self._advance(upload, seen)
        if ended.pause_s is not None:
            # Half a period early: a tick that comes a moment before the time would otherwise leave it to the next.
            next_look_at = math.ceil(self._clock() + ended.pause_s - self._pace.tick_s / 2)
            self._table.look_again(upload.upload_id, self._claimed_until, next_look_at, ended.seen)
        return ended.how

    def _advance(self, upload: Upload, seen: OpenUpload) -> Ended:
        """Bring a running upload one step further."""
        if replaced := self._attention.replace(upload):
            logger.info("rows replaced", upload_id=upload.upload_id, rows=replaced)
        if upload.state != "running":
            return Ended("waiting", LONGEST_PAUSE_S)
        if not upload.published:
            # Nothing is counted yet, and what the sweep waits for begins when everything is published.
            begun = Progress(terminal=seen.terminal, moved_at=int(self._clock()))
            return Ended(self._continue_publishing(upload), self._pace.tick_s, begun)
        terminal = self._table.count_rows(upload.upload_id)
        logger.info("counted", upload_id=upload.upload_id, terminal=terminal, valid=upload.counts.valid)
        if terminal < upload.counts.valid:
            return self._wait_or_sweep(upload, seen, terminal)
        return self._finish(upload)

    def _wait_or_sweep(self, upload: Upload, seen: OpenUpload, terminal: int) -> Ended:
        now, pace = int(self._clock()), self._pace
        moved = terminal != seen.terminal or not seen.moved_at
        progress = Progress(terminal=terminal, moved_at=now if moved else seen.moved_at)
        # Of one that was let go on, only the time since then says how fast it is.
        since = (seen.moved_at or now) if upload.resumes else upload.created_at
        empty_since = self._queue.empty_since()
        walk = self._sweep.unfinished(upload)
        still = stillness(
            now=now,
            moved_at=progress.moved_at,
            empty_since=empty_since,
            quiet_s=pace.quiet_s,
            stall_s=pace.stall_s,
        )
        if walk is not None or still:
            how = self._sweep.run(upload, walk, quiet=still == "quiet", until=self._until)
            logger.info("swept", upload_id=upload.upload_id, end=how, why=still or "unfinished")
            if how == "swept":
                # What was published again now has as long as what was published first.
                progress = Progress(terminal=terminal, moved_at=int(self._clock()))
            return Ended(how, pace.tick_s, progress)
        pause_s = pause_before_next_count(
            valid=upload.counts.valid,
            terminal=terminal,
            elapsed_s=now - since,
            tick_s=pace.tick_s,
            # With nothing on its way, what is missing is looked for as soon as the quiet has lasted.
            within_s=LONGEST_PAUSE_S
            if empty_since is None
            else max(empty_since, progress.moved_at) + pace.quiet_s - now,
        )
        return Ended("counted", pause_s, progress)

    def _finish(self, upload: Upload) -> Ended:
        told = self._completion.complete(upload)
        if told is None:
            return Ended("overtaken", self._pace.tick_s)
        self._count({FINISHED: 1})
        finished = self._table.get_upload(upload.upload_id)
        if finished is None:
            raise LookupError("a finished upload has no META item")
        self._announce(finished, told)
        return Ended("finished")

    def _continue_publishing(self, upload: Upload) -> str:
        if upload.publisher_until >= self._clock():
            return "publishing"
        # Asynchronous, and harmless twice: only one publisher takes the pass of an upload at a time.
        with crossing("finish.continue_publishing"):
            self._lambda.invoke(
                FunctionName=self._intake_function,
                InvocationType="Event",
                Payload=json.dumps({"continue_upload": upload.upload_id}).encode(),
            )
        return "continued"

    def _announce(self, upload: Upload, announcement: Announcement) -> None:
        self._announcer.announce(upload, announcement)
        if announcement.kind == "paused":
            self._count({PAUSED: 1})
        logger.info("told", upload_id=upload.upload_id, kind=announcement.kind)
