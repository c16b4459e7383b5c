"""The two S3 streams of finishing: the uploaded object version in, the results CSV out; neither is held whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from functions.crash_points import crossing
from functions.finish.rows import OpenSource
from functions.intake.source import ObjectVersion, Source
from functions.uploads.model import Upload

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

PART_BYTES = 8 << 20
"""One part of a multipart upload. S3 takes at least 5 MiB and at most 10,000 parts, so this holds 80 GB."""
MAX_NAME_BYTES = 255
CONTENT_TYPE = "text/csv; charset=utf-8"


def source_of(s3: S3Client) -> OpenSource:
    """Opens exactly the version that was admitted, whatever the object's name holds by now."""
    source = Source(s3)

    def open_source(upload: Upload) -> Iterator[bytes]:
        return source.open(ObjectVersion(upload.bucket, upload.object_key, upload.version_id, upload.bytes))

    return open_source


def has_source(s3: S3Client, upload: Upload) -> bool:
    """Whether the version that was admitted is still there. By listing: without the permission to list a bucket, S3
    answers a look at one object that is gone as one that is forbidden."""
    position: dict[str, str] = {}
    while True:
        with crossing("finish.find_version"):
            page = s3.list_object_versions(Bucket=upload.bucket, Prefix=upload.object_key, **position)  # type: ignore[arg-type]
        versions = {(each["Key"], each["VersionId"]) for each in page.get("Versions", ())}
        if (upload.object_key, upload.version_id) in versions:
            return True
        # By key, so that the name's own versions come before those of longer names.
        if not page["IsTruncated"] or page["NextKeyMarker"] != upload.object_key:
            return False
        position = {"KeyMarker": page["NextKeyMarker"], "VersionIdMarker": page["NextVersionIdMarker"]}


def results_key(upload: Upload) -> str:
    """The results carry the uploaded file's name, so that a download is recognised; every revision has the same key."""
    name = upload.object_key.rpartition("/")[2]
    stem = name[: -len(".csv")] if name.lower().endswith(".csv") else name
    # Cut by bytes: an object key holds at most 1,024, and a name may have used them up.
    stem = stem.encode()[: MAX_NAME_BYTES - len(".csv")].decode(errors="ignore")
    return f"results/{upload.upload_id}/{stem or 'results'}.csv"


class ResultsNotWrittenError(Exception):
    """S3 did not take the results. Only the code is kept: the messages of S3 and boto3 repeat the object's name."""

    def __init__(self, code: str) -> None:
        super().__init__(f"the results could not be written: {code}")


def put_results(s3: S3Client, bucket: str, key: str, chunks: Iterable[bytes], metadata: Mapping[str, str]) -> None:
    """Write one object from a stream. It appears whole or not at all; what is left of a failed try is removed.

    Raises ResultsNotWrittenError, and what the stream raises.
    """
    parts = _parts(chunks)
    first, second = next(parts, b""), next(parts, None)
    code = ""
    try:
        if second is None:
            with crossing("finish.results_put"):
                s3.put_object(Bucket=bucket, Key=key, Body=first, ContentType=CONTENT_TYPE, Metadata=dict(metadata))
        else:
            _put_in_parts(s3, bucket, key, chain((first, second), parts), metadata)
    except ClientError as error:
        code = str(error.response["Error"]["Code"])
    except BotoCoreError as error:
        code = type(error).__name__
    if code:
        # Outside the handlers, so that the message is not even in the traceback's context.
        raise ResultsNotWrittenError(code)


def _put_in_parts(s3: S3Client, bucket: str, key: str, parts: Iterable[bytes], metadata: Mapping[str, str]) -> None:
    with crossing("finish.results_begin"):
        started = s3.create_multipart_upload(Bucket=bucket, Key=key, ContentType=CONTENT_TYPE, Metadata=dict(metadata))
    whole: Any = {"Bucket": bucket, "Key": key, "UploadId": started["UploadId"]}
    done: list[CompletedPartTypeDef] = []
    try:
        for number, part in enumerate(parts, start=1):
            with crossing("finish.results_part"):
                answer = s3.upload_part(PartNumber=number, Body=part, **whole)
            done.append({"PartNumber": number, "ETag": answer["ETag"]})
        with crossing("finish.results_complete"):
            s3.complete_multipart_upload(MultipartUpload={"Parts": done}, **whole)
    except Exception:
        with crossing("finish.results_abort"):
            s3.abort_multipart_upload(**whole)
        raise


def _parts(chunks: Iterable[bytes]) -> Iterator[bytes]:
    buffer = bytearray()
    for chunk in chunks:
        buffer += chunk
        while len(buffer) >= PART_BYTES:
            yield bytes(buffer[:PART_BYTES])
            del buffer[:PART_BYTES]
    if buffer:
        yield bytes(buffer)
