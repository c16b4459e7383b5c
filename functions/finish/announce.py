"""Telling what the outbox of an upload holds: its end (an event on the bus, then the summary on the alerts topic), or
that it waits for somebody (a notice on the alerts topic), from what is stored.

Every step can be repeated: the event is the same to the byte each time and carries the same DeduplicationId. Only a
kill between a mail and the note that it went out makes a second mail.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ulid import ULID

from functions.crash_points import crossing
from functions.events.entries import Entry
from functions.events.envelope import Envelope
from functions.events.publisher import Publisher
from functions.finish.notices import notice_of
from functions.uploads.model import Announcement, Upload
from functions.uploads.table import UploadsTable

if TYPE_CHECKING:
    from mypy_boto3_sns import SNSClient

FINISHED = "upload.finished"
AGENT = "finish@1"


class Announcer:
    """Sends what the outbox of an upload holds, and empties it."""

    def __init__(self, table: UploadsTable, publisher: Publisher, sns: SNSClient, topic_arn: str) -> None:
        self._table = table
        self._publisher = publisher
        self._sns = sns
        self._topic_arn = topic_arn

    def announce(self, upload: Upload, announcement: Announcement) -> None:
        """Raises what the bus and the topic raise; the outbox then still holds the announcement."""
        if announcement.kind == "finished":
            self._publisher.publish([finished_event(upload)])
        notice = notice_of(upload, announcement)
        with crossing("finish.notify"):
            self._sns.publish(TopicArn=self._topic_arn, Subject=notice.subject, Message=notice.text)
        self._table.announced(upload.upload_id, announcement)


def finished_event(upload: Upload) -> Entry:
    """The `upload.finished` event of the revision that META holds; a repeat of it is equal to the byte."""
    digest = hashlib.sha256(f"{upload.upload_id}\n{FINISHED}\n{upload.revision}".encode())
    finished_at = datetime.fromtimestamp(upload.finished_at or upload.created_at, UTC)
    envelope = Envelope(
        event_id=f"evt_{ULID.from_bytes(digest.digest()[:16])}",
        type=FINISHED,
        occurred_at=finished_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        correlation_id=upload.upload_id,
        source_agent=AGENT,
        hops=0,
        lineage=("finish",),
        data={
            "upload_id": upload.upload_id,
            "revision": upload.revision,
            "counts": upload.counts.model_dump(),
            "rows": upload.rows.model_dump(),
            "results": {"bucket": upload.bucket, "key": upload.results_key},
        },
    )
    return Entry(digest.hexdigest(), FINISHED, envelope.to_detail())
