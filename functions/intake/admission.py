"""Admission: an object version becomes an upload, joins one, or is refused. Nothing is published before.

An upload whose worst case is over a ceiling waits for an operator's approval and reserves nothing till then.

The version's OBJECT item is written first and settled last, so that whatever happens in between, a repeat of the event
(or the sweep) starts again, and after a settlement nobody does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from functions.clock import Clock, wall_clock
from functions.intake.notices import NoticeError
from functions.intake.refusals import Refused
from functions.intake.source import SourceGone
from functions.settings import Limits
from functions.uploads.budget import Ceilings, budget_day
from functions.uploads.keys import upload_id
from functions.uploads.model import Upload

if TYPE_CHECKING:
    from functions.classify.task import Task
    from functions.intake.notices import Notices
    from functions.intake.pipeline import Timings
    from functions.intake.report import Examiner, Report
    from functions.intake.source import ObjectVersion, Source
    from functions.settings import IntakeSettings
    from functions.uploads.table import UploadsTable

GONE = ("object_gone", "The uploaded file was deleted before it could be read; upload it again.")


@dataclass(frozen=True)
class Admitted:
    """A new upload, of which the caller is the publisher."""

    upload: Upload


@dataclass(frozen=True)
class Waiting:
    """A new upload over a ceiling: people are told by the outbox, and nothing is published until it is approved."""

    upload: Upload


@dataclass(frozen=True)
class Joined:
    """The same bytes were admitted before, under this or another name; nothing was reserved again."""

    upload: Upload


@dataclass(frozen=True)
class Rejected:
    """The file was refused, and people were told."""

    code: str


@dataclass(frozen=True)
class Settled:
    """Nothing to do: what becomes of this version was decided before."""


Decision = Admitted | Waiting | Joined | Rejected | Settled


class Admission:
    """Decides on object versions under the deployed task."""

    def __init__(
        self,
        *,
        settings: IntakeSettings,
        task: Task,
        source: Source,
        examiner: Examiner,
        table: UploadsTable,
        notices: Notices,
        clock: Clock = wall_clock,
    ) -> None:
        self._ceilings = Ceilings(
            upload_microusd=settings.max_upload_microusd or None, day_microusd=settings.max_day_microusd or None
        )
        self._settings = settings
        self._task = task
        self._source = source
        self._examiner = examiner
        self._table = table
        self._notices = notices
        self._clock = clock

    def decide(self, version: ObjectVersion, deadline: float, timings: Timings | None = None) -> Decision:
        """Settle one version. `deadline` is when this invocation is killed, in seconds since the epoch. `timings` is
        told what reading and looking up took.

        What raises is retried by whoever delivered the event; the last allowed attempt settles the version as
        `intake_failed` before it raises.
        """
        found = self._table.begin_object(version.key, version.version_id, version.size)
        if found.settled:
            return Settled()
        if found.attempts > self._settings.max_intake_attempts:
            now = self._clock()
            if found.begun_before + (deadline - now) > now:
                # The attempt before this one may still be alive, and decides.
                return Settled()
            return self._give_up(version)
        try:
            return self._attempt(version, deadline, timings)
        except Exception:
            if found.attempts >= self._settings.max_intake_attempts:
                self._give_up(version)
            raise

    def _attempt(self, version: ObjectVersion, deadline: float, timings: Timings | None) -> Decision:
        try:
            report = self._report(version, timings)
        except Refused as refused:
            refusal = (str(refused.code), refused.sentence)
        except SourceGone:
            refusal = GONE
        else:
            return self._admit(self._upload(version, report, deadline), version)
        return self._refuse(version, *refusal)

    def _report(self, version: ObjectVersion, timings: Timings | None) -> Report:
        limit = self._settings.max_file_bytes
        if version.size > limit:
            raise Refused("file_too_large", f"The file is larger than the limit of {limit:,} bytes; split it.")

        def opened() -> Iterator[bytes]:
            return self._source.open(version)

        return self._examiner.report(opened, timings)

    def _admit(self, upload: Upload, version: ObjectVersion) -> Decision:
        most = self._ceilings.upload_microusd
        if most is not None and upload.worst_case_microusd > most:
            upload = _waiting(upload)
        admitted = self._table.admit(upload, self._ceilings)
        if admitted == "over_budget":
            upload = _waiting(upload)
            admitted = self._table.admit(upload, self._ceilings)
        if admitted == "admitted":
            return Admitted(upload) if upload.state == "running" else Waiting(upload)
        existing = self._table.get_upload(upload.upload_id)
        if existing is None:
            # Not META but this version's settlement stood in the way: another attempt decided otherwise.
            return Settled()
        self._table.join_object(version.key, version.version_id, existing.upload_id)
        return Joined(existing)

    def _refuse(self, version: ObjectVersion, code: str, sentence: str) -> Decision:
        # People are told before the version is settled: after a kill in between they are told again, not never.
        failure: NoticeError | None = None
        try:
            self._notices.refused(version.key, code, sentence)
        except NoticeError as error:
            failure = error
        self._table.refuse_object(version.key, version.version_id, code, sentence)
        if failure is not None:
            raise failure
        return Rejected(code)

    def _give_up(self, version: ObjectVersion) -> Decision:
        # Settled first: this may be the last that is heard of the version, and the failure itself raises an alarm.
        attempts = self._settings.max_intake_attempts
        sentence = (
            f"The file could not be read in {attempts} attempts, for a reason that is not in the file; upload it "
            "again, and if that fails too, look at the intake function's log."
        )
        if not self._table.refuse_object(version.key, version.version_id, "intake_failed", sentence):
            return Settled()
        self._notices.refused(version.key, "intake_failed", sentence)
        return Rejected("intake_failed")

    def _upload(self, version: ObjectVersion, report: Report, deadline: float) -> Upload:
        version_of_prompt = self._task.prompt_version
        now, worst_case = self._clock(), report.worst_case_microusd
        return Upload(
            upload_id=upload_id(report.sha256, version_of_prompt),
            state="running",
            bucket=version.bucket,
            object_key=version.key,
            version_id=version.version_id,
            sha256=report.sha256,
            bytes=report.size,
            created_at=int(now),
            task=self._task.to_json(),
            prompt_version=version_of_prompt,
            columns=self._task.columns,
            limits={name: getattr(self._settings, name) for name in Limits.model_fields},
            encoding=report.encoding,
            encoding_guessed=report.encoding_guessed,
            delimiter=report.delimiter,
            header=report.header,
            counts=report.counts,
            worst_case_microusd=worst_case,
            # Where every answer is known there is nothing to reserve, and no ceiling in the way.
            budget_day=budget_day(now) if worst_case else "",
            reserved_microusd=worst_case,
            # This invocation goes on to publish, so nobody else starts before it is certainly dead.
            publisher_until=int(deadline) + 1,
        )


def _waiting(upload: Upload) -> Upload:
    return upload.model_copy(
        update={"state": "needs_approval", "budget_day": "", "reserved_microusd": 0, "publisher_until": 0}
    )
