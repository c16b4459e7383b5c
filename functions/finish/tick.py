"""One tick: each open upload that is due is looked at once, by one tick at a time.

What a look does depends on where the upload stands: its publisher is continued, its rows are counted, it is finished,
or its end is told. A tick that is killed anywhere leaves the upload open, and the next one does the same again.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import TYPE_CHECKING

from aws_lambda_powertools import Logger

from functions.clock import Clock
from functions.crash_points import reach
from functions.finish.announce import Announcer
from functions.finish.complete import Completion
from functions.finish.count import LONGEST_PAUSE_S, pause_before_next_count
from functions.uploads.model import Announcement, OpenUpload, Upload
from functions.uploads.table import UploadsTable

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

logger = Logger(service="finish")

RESERVE_S = 5.0
"""No further look is begun with less of the invocation left."""


class TickFailedError(Exception):
    """Some uploads could not be looked at; the others were. Raised at the end, so that the function's alarm rings."""

    def __init__(self, upload_ids: list[str]) -> None:
        super().__init__(f"{len(upload_ids)} uploads could not be looked at: {', '.join(upload_ids)}")


class Tick:
    """The looks of one invocation, which ends at `deadline` (epoch seconds); `tick_s` is the schedule's period."""

    def __init__(
        self,
        table: UploadsTable,
        completion: Completion,
        announcer: Announcer,
        lambda_client: LambdaClient,
        *,
        intake_function: str,
        tick_s: float,
        deadline: float,
        clock: Clock,
    ) -> None:
        self._table = table
        self._completion = completion
        self._announcer = announcer
        self._lambda = lambda_client
        self._intake_function = intake_function
        self._tick_s = tick_s
        self._deadline = deadline
        self._clock = clock

    def run(self) -> dict[str, int]:
        """Look at every upload that is due; how many looks ended how. Raises TickFailedError after the last."""
        ends: Counter[str] = Counter()
        broken: list[str] = []
        for seen in self._table.open_uploads():
            if seen.next_look_at > self._clock():
                ends["not_due"] += 1
            elif self._clock() > self._deadline - RESERVE_S:
                ends["out_of_time"] += 1
            else:
                try:
                    ends[self._look(seen)] += 1
                except Exception:
                    # One upload that cannot be read must not keep the others from ending.
                    logger.exception("a look failed", upload_id=seen.upload_id)
                    broken.append(seen.upload_id)
        logger.info("tick", extra={"looks": dict(ends), "failed": len(broken)})
        if broken:
            raise TickFailedError(broken)
        return dict(ends)

    def _look(self, seen: OpenUpload) -> str:
        # The claim ends with this invocation: a tick that is killed holds nobody up for longer than it could have run.
        claimed_until = math.ceil(self._deadline)
        reach("finish.claim_look.before")
        if not self._table.claim_look(seen, claimed_until):
            return "taken"
        reach("finish.claim_look.after")
        upload = self._table.get_upload(seen.upload_id)
        if upload is None:
            raise LookupError("an open upload has no META item")
        if seen.announcement is not None:
            return self._announce(upload, seen.announcement)
        end, pause_s = self._advance(upload)
        if end == "finished":
            return end
        # Half a period early: a tick that comes a moment before the time would otherwise leave it to the one after.
        next_look_at = math.ceil(self._clock() + pause_s - self._tick_s / 2)
        self._table.look_again(upload.upload_id, claimed_until, next_look_at)
        return end

    def _advance(self, upload: Upload) -> tuple[str, float]:
        """Bring a running upload one step further; how the look ended and the seconds until the next."""
        if upload.state != "running":
            return "waiting", LONGEST_PAUSE_S
        if not upload.published:
            # Nothing is counted yet: the rows that are not published cannot have ended.
            return self._continue_publishing(upload), self._tick_s
        reach("finish.count.before")
        terminal = self._table.count_rows(upload.upload_id)
        reach("finish.count.after")
        logger.info("counted", upload_id=upload.upload_id, terminal=terminal, valid=upload.counts.valid)
        if terminal < upload.counts.valid:
            return "counted", pause_before_next_count(
                valid=upload.counts.valid,
                terminal=terminal,
                elapsed_s=self._clock() - upload.created_at,
                tick_s=self._tick_s,
            )
        told = self._completion.complete(upload)
        if told is None:
            return "overtaken", self._tick_s
        finished = self._table.get_upload(upload.upload_id)
        if finished is None:
            raise LookupError("a finished upload has no META item")
        return self._announce(finished, told), 0.0

    def _continue_publishing(self, upload: Upload) -> str:
        if upload.publisher_until >= self._clock():
            return "publishing"
        reach("finish.continue.before")
        # Asynchronous, and harmless twice: only one publisher takes the pass of an upload at a time.
        self._lambda.invoke(
            FunctionName=self._intake_function,
            InvocationType="Event",
            Payload=json.dumps({"continue_upload": upload.upload_id}).encode(),
        )
        reach("finish.continue.after")
        return "continued"

    def _announce(self, upload: Upload, announcement: Announcement) -> str:
        self._announcer.announce(upload, announcement)
        logger.info("finished", upload_id=upload.upload_id, revision=announcement.revision)
        return "finished"
