"""Object versions that nobody took in: their event was lost, or intake died at them.

Every so often the versions under `uploads/` are compared with their OBJECT items, and intake is asked again, with an
event of the shape of S3's. Whether and how often it tries is intake's to decide.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools import Logger

from functions.clock import Clock
from functions.crash_points import crossing
from functions.intake.source import PREFIX, ObjectVersion, passed_over
from functions.uploads.model import ObjectItem
from functions.uploads.sweeps import SweepsTable
from functions.uploads.table import UploadsTable

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client

logger = Logger(service="finish", child=True)

DAY_S = 86_400


class LostObjects:
    """Rounds over the object versions. Seconds everywhere.

    Versions younger than `grace_s` are left to their event, and those older than `retention_days` alone: what was
    stored of them may have been forgotten by now.
    """

    def __init__(
        self,
        *,
        table: UploadsTable,
        sweeps: SweepsTable,
        s3: S3Client,
        lambda_client: LambdaClient,
        bucket: str,
        intake_function: str,
        period_s: float,
        grace_s: float,
        intake_timeout_s: float,
        retention_days: int,
        clock: Clock,
    ) -> None:
        self._table = table
        self._sweeps = sweeps
        self._s3 = s3
        self._lambda = lambda_client
        self._bucket = bucket
        self._intake_function = intake_function
        self._period_s = period_s
        self._grace_s = grace_s
        self._intake_timeout_s = intake_timeout_s
        self._retention_s = retention_days * DAY_S
        self._clock = clock

    def find(self, *, claimed_until: int, until: float) -> int:
        """Compare until then, if it is due; how many versions intake was asked to take in."""
        position = self._sweeps.claim_round("objects", claimed_until)
        if position is None:
            return 0
        began, asked = self._clock(), 0
        while True:
            versions, position = self._page(position)
            asked += sum(map(self._ask_intake, self._lost(versions)))
            if not position or self._clock() >= until:
                break
        next_at = int(self._clock() if position else began + self._period_s)
        self._sweeps.leave_round("objects", claimed_until, next_at=next_at, position=position)
        return asked

    def _page(self, position: dict[str, str]) -> tuple[list[ObjectVersion], dict[str, str]]:
        with crossing("finish.list_versions"):
            page = self._s3.list_object_versions(Bucket=self._bucket, Prefix=PREFIX, **position)  # type: ignore[arg-type]
        versions = [
            ObjectVersion(self._bucket, found["Key"], found["VersionId"], found["Size"])
            for found in page.get("Versions", ())
            if self._grace_s <= self._clock() - found["LastModified"].timestamp() <= self._retention_s
        ]
        if not page["IsTruncated"]:
            return versions, {}
        return versions, {"KeyMarker": page["NextKeyMarker"], "VersionIdMarker": page["NextVersionIdMarker"]}

    def _lost(self, versions: Sequence[ObjectVersion]) -> Iterator[ObjectVersion]:
        uploads = [version for version in versions if not passed_over(version)]
        items = self._table.get_objects((version.key, version.version_id) for version in uploads)
        for version in uploads:
            item = items.get((version.key, version.version_id))
            if item is None or self._died(item):
                logger.warning("object not taken in", extra={"object": version.reference, "begun": item is not None})
                yield version

    def _died(self, item: ObjectItem) -> bool:
        # Lambda repeats a failed attempt by itself, and sooner; after the function's timeout nobody is at it.
        return not item.settled and item.begun_at + self._intake_timeout_s < self._clock()

    def _ask_intake(self, version: ObjectVersion) -> int:
        # Asynchronous, and harmless twice: a version is settled once.
        with crossing("finish.ask_intake"):
            self._lambda.invoke(
                FunctionName=self._intake_function,
                InvocationType="Event",
                Payload=json.dumps(object_created(version)).encode(),
            )
        return 1


def object_created(version: ObjectVersion) -> dict[str, Any]:
    """As EventBridge delivers S3's "Object Created" (Amazon S3 User Guide, EventBridge event message structure)."""
    return {
        "version": "0",
        "detail-type": "Object Created",
        "source": "aws.s3",
        "detail": {
            "version": "0",
            "bucket": {"name": version.bucket},
            "object": {"key": version.key, "size": version.size, "version-id": version.version_id},
            "reason": "Sweep",
        },
    }
