"""Whether an object's key reaches intake as S3 stores it, blanks, plus and é included.

S3's older notifications encode keys, its events on EventBridge are said not to. The probe is an object of zero bytes
named .csv: intake refuses it as empty before anything is read or priced, so whatever happens to it, no row exists that
could be billed. What is observed is the item that intake writes of every object version, under the key that it was
told. One notice of a refused file goes out, naming the probe; the object is deleted afterwards.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import quote, quote_plus

from botocore.exceptions import ClientError

from cli.doctor.patient import Patient
from cli.doctor.report import Finding, not_meaningful, ok, problem, unknown
from cli.finding import UPLOADS
from functions.uploads.table import UploadsTable

FOLDER = f"{UPLOADS}doctor/"
EXPECTED = "empty_file"
PATIENCE_S = 90.0
PAUSE_S = 0.5


def keys_arrive_as_they_are(patient: Patient) -> Finding:
    if patient.local:
        return not_meaningful("the local cloud hands keys on as they are because it was made so")
    if patient.read_only:
        return unknown("skipped: it puts an object of zero bytes into the bucket", "Run it without --read-only.")
    return probe(patient)


def probe(
    patient: Patient,
    *,
    patience_s: float = PATIENCE_S,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Finding:
    """Put the probe and wait for what becomes of it; it is taken away again in any case."""
    s3, bucket = patient.client("s3"), patient.output("UploadsBucketName")
    dynamodb = patient.target.cloud.resource("dynamodb")
    table = UploadsTable(dynamodb.Table(patient.output("ProspectsTableName")))
    key = f"{FOLDER}key check + é {secrets.token_hex(4)}.csv"
    version = s3.put_object(Bucket=bucket, Key=key, Body=b"")["VersionId"]
    try:
        deadline = clock() + patience_s
        while clock() < deadline:
            if found := _observed(table, key, version):
                return found
            sleep(PAUSE_S)
    finally:
        _take_away(s3, bucket, key, version)
    return problem(
        f"no event of the probe reached intake within {patience_s:g} s",
        "Look at the dead-letter queues intake-rule-dlq and intake-failures, and at the log of the intake function.",
    )


def _observed(table: UploadsTable, key: str, version: str) -> Finding | None:
    item = table.get_object(key, version)
    if item is not None and item.settled:
        if item.refusal == EXPECTED:
            return ok("keys with blanks, a plus and é reach intake as S3 stores them")
        return problem(f"the probe ended as {item.refusal or 'an upload'}, not as {EXPECTED}", "Report it.")
    for spelled, how in ((quote_plus(key, safe="/"), "form"), (quote(key, safe="/"), "percent")):
        if table.get_object(spelled, version) is not None:
            return problem(
                f"keys reach intake {how}-encoded, so files with blanks or é in their name are refused as gone",
                "Report it: functions/intake/source.py must decode keys in this Region.",
            )
    return None


def _take_away(s3: Any, bucket: str, key: str, version: str) -> None:
    # Without the permission it stays, empty; the bucket's own rules take it away later.
    with suppress(ClientError):
        s3.delete_object(Bucket=bucket, Key=key, VersionId=version)
