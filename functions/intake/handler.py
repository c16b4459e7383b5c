"""The intake worker: an uploaded object becomes an upload whose rows are on the bus; a stopped publisher continues.

Two events: S3's "Object Created" through EventBridge, and {"continue_upload": "<upload id>"} from the tick. Both may
come more than once. Logs name objects by a digest: keys are file names, and those are personal data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import boto3
from aws_lambda_powertools import Logger

from functions.classify.task import build_task
from functions.clock import Clock, wall_clock
from functions.effects.table import EffectTable
from functions.events.publisher import CLIENT_CONFIG, EventsClient, Publisher
from functions.failures import without_texts
from functions.intake.admission import Admission, Admitted, Joined, Rejected, Waiting
from functions.intake.counting import counts_of
from functions.intake.notices import Notices
from functions.intake.pipeline import Timings
from functions.intake.publish import Publishing
from functions.intake.report import Examiner
from functions.intake.source import ObjectVersion, Source, SourceGone, named_object, passed_over
from functions.metrics import Count, uncounted, write_counts
from functions.settings import IntakeSettings
from functions.uploads.table import UploadsTable

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

    from functions.uploads.model import Upload

logger = Logger(service="intake")


@dataclass(frozen=True)
class Intake:
    """The worker with everything it uses."""

    settings: IntakeSettings
    source: Source
    table: UploadsTable
    admission: Admission
    publishing: Publishing
    clock: Clock = wall_clock
    count: Count = uncounted

    def handle(self, event: Mapping[str, Any], remaining_s: float) -> None:
        """Do what one event asks. `remaining_s` is the time this invocation has left."""
        deadline = self.clock() + remaining_s
        if isinstance(upload_id := event.get("continue_upload"), str):
            self._continue(upload_id, deadline)
        else:
            self._created(event, deadline)

    def _created(self, event: Mapping[str, Any], deadline: float) -> None:
        version, reason = self._named_upload(event)
        if version is None:
            logger.info("event ignored", extra={"reason": reason})
            return
        timings = Timings()
        decision = self.admission.decide(version, deadline, timings)
        # Before publishing, which may take longer than this invocation lasts.
        self.count(counts_of(decision, self.settings.max_upload_microusd))
        logger.append_keys(object=version.reference, decision=type(decision).__name__.lower())
        match decision:
            case Admitted(upload):
                logger.info("upload admitted", extra=_report(upload) | timings.milliseconds())
                self._publish(upload, deadline)
            case Waiting(upload):
                logger.warning("upload waits for approval", extra=_report(upload) | timings.milliseconds())
            case Joined(upload):
                logger.info("object joined an upload", extra={"upload_id": upload.upload_id})
                self._take_and_publish(upload, deadline)
            case Rejected(code):
                logger.warning("file refused", extra={"reason": code})
            case _:
                logger.info("object was settled before")

    def _named_upload(self, event: Mapping[str, Any]) -> tuple[ObjectVersion | None, str]:
        """The object version that the event asks to take in, or None and why there is none."""
        named = named_object(event)
        if named is None:
            return None, "not_an_object_event"
        if named.bucket != self.settings.uploads_bucket:
            return None, "another_bucket"
        if reason := passed_over(named):
            return None, reason
        try:
            version = self.source.resolve(named)
        except SourceGone:
            return None, "object_gone"
        # Once more, with the size that the event may have left out.
        reason = passed_over(version)
        return (None, reason) if reason else (version, "")

    def _continue(self, upload_id: str, deadline: float) -> None:
        upload = self.table.get_upload(upload_id)
        if upload is None:
            logger.warning("event ignored", extra={"reason": "no_such_upload", "upload_id": upload_id})
            return
        self._take_and_publish(upload, deadline)

    def _take_and_publish(self, upload: Upload, deadline: float) -> None:
        taken = self.publishing.take(upload, deadline)
        if taken is None:
            logger.info("nothing to publish, or another publisher is at it", extra={"upload_id": upload.upload_id})
            return
        self._publish(taken, deadline)

    def _publish(self, upload: Upload, deadline: float) -> None:
        timings = Timings()
        end = self.publishing.publish(upload, deadline - self.settings.stop_before_timeout_s, timings)
        named = {"upload_id": upload.upload_id, "generation": upload.generation, "end": end}
        logger.info("publishing ended", extra=named | timings.milliseconds())


def build(
    settings: IntakeSettings, session: boto3.Session, clock: Clock = wall_clock, count: Count = uncounted
) -> Intake:
    """Put the worker together. Raises UnknownModelError for a model without a price."""
    task = build_task(settings)
    dynamodb = session.resource("dynamodb")
    table = UploadsTable(
        dynamodb.Table(settings.prospects_table), retention_days=settings.upload_retention_days, clock=clock
    )
    read_many = EffectTable(dynamodb.Table(settings.idempotency_table)).read_many
    source = Source(session.client("s3"))
    events: EventsClient = session.client("eventbridgev2", config=CLIENT_CONFIG)
    return Intake(
        settings=settings,
        source=source,
        table=table,
        admission=Admission(
            settings=settings,
            task=task,
            source=source,
            examiner=Examiner(task, settings, settings.max_paid_attempts, read_many),
            table=table,
            notices=Notices(session.client("sns"), settings.alerts_topic_arn),
            clock=clock,
        ),
        publishing=Publishing(
            source=source,
            table=table,
            read_many=read_many,
            publisher=Publisher(events, settings.event_bus_arn),
            bus_arn=settings.event_bus_arn,
            max_paid_attempts=settings.max_paid_attempts,
            clock=clock,
        ),
        clock=clock,
        count=count,
    )


@cache
def _intake() -> Intake:
    return build(IntakeSettings.from_env(), boto3.Session(), count=partial(write_counts, "intake"))


@without_texts
@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> None:
    """Lambda's entry point. What raises is retried by Lambda, then goes to the on-failure queue."""
    _intake().handle(event, context.get_remaining_time_in_millis() / 1000)


def _report(upload: Upload) -> dict[str, Any]:
    return {
        "upload_id": upload.upload_id,
        **upload.counts.model_dump(),
        "worst_case_microusd": upload.worst_case_microusd,
        "encoding": upload.encoding,
        "encoding_guessed": upload.encoding_guessed,
    }
