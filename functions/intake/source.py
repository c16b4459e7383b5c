"""One version of one uploaded object: what an event says of it, and its bytes as a stream."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from functions.crash_points import crossing

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

PREFIX = "uploads/"
NULL_VERSION = "null"
"""What S3 calls the version of an object in a bucket without versioning."""
_CHUNK_BYTES = 128 * 1024
_GONE = frozenset({"NoSuchKey", "NoSuchVersion", "404"})


class SourceGone(Exception):  # noqa: N818 - an end state: there is nothing left to read
    """The object version does not exist any more."""


class SourceError(Exception):
    """S3 did not give the object. Only the code is kept: the messages of S3 and boto3 repeat the object's name."""

    def __init__(self, code: str) -> None:
        super().__init__(f"the uploaded object could not be read: {code}")
        self.code = code


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """An object version; `key` exactly as S3 stores it, `size` in bytes."""

    bucket: str
    key: str
    version_id: str
    size: int

    @property
    def reference(self) -> str:
        """Names this version in logs, where a file's name may not appear."""
        return hashlib.sha256(f"{self.bucket}\n{self.key}\n{self.version_id}".encode()).hexdigest()[:12]


def named_object(event: Mapping[str, Any]) -> ObjectVersion | None:
    """The object an EventBridge event "Object Created" names, or None for any other event.

    The key is used as it is: on this path S3 does not encode it, unlike in its older notifications.
    A version that the event does not name is left empty (see `resolve`).
    """
    if event.get("source") != "aws.s3" or event.get("detail-type") != "Object Created":
        return None
    detail = event.get("detail")
    try:
        found = detail["object"]  # type: ignore[index]
        return ObjectVersion(
            bucket=str(detail["bucket"]["name"]),  # type: ignore[index]
            key=str(found["key"]),
            version_id=str(found.get("version-id") or ""),
            size=int(found.get("size", -1)),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def passed_over(version: ObjectVersion) -> str:
    """Why this object is no upload, as a code; empty when it is one. A zero-byte .csv is one (and is refused)."""
    if not version.key.startswith(PREFIX):
        return "not_an_upload"
    if version.size == 0 and version.key.endswith("/"):
        return "folder_marker"
    if version.size == 0 and not version.key.lower().endswith(".csv"):
        return "empty_object"
    return ""


class Source:
    """Reads objects from S3. Raises SourceGone or SourceError, never an error of boto3."""

    def __init__(self, s3: S3Client) -> None:
        self._s3 = s3

    def resolve(self, version: ObjectVersion) -> ObjectVersion:
        """The same object with its version and size, asked of S3 where the event left one out."""
        if version.version_id and version.size >= 0:
            return version
        named = {"VersionId": version.version_id} if version.version_id else {}
        try:
            with crossing("intake.source_head"):
                head: Any = self._s3.head_object(Bucket=version.bucket, Key=version.key, **named)  # type: ignore[arg-type]
        except (ClientError, BotoCoreError) as error:
            failure = _without_names(error)
        else:
            current = version.version_id or head.get("VersionId") or NULL_VERSION
            return ObjectVersion(version.bucket, version.key, current, int(head["ContentLength"]))
        raise failure

    def open(self, version: ObjectVersion) -> Iterator[bytes]:
        """The bytes of exactly this version, in chunks; may be opened again."""
        failure: Exception
        try:
            with crossing("intake.source_open"):
                answer = self._s3.get_object(Bucket=version.bucket, Key=version.key, VersionId=version.version_id)
            stream = answer["Body"]
            with stream:
                yield from _chunks(stream.iter_chunks(_CHUNK_BYTES))
        except (ClientError, BotoCoreError) as error:
            failure = _without_names(error)
        else:
            return
        raise failure


def _chunks(body: Iterator[bytes]) -> Iterator[bytes]:
    while True:
        with crossing("intake.source_read"):
            chunk = next(body, b"")
        if not chunk:
            return
        yield chunk


def _without_names(error: ClientError | BotoCoreError) -> Exception:
    if not isinstance(error, ClientError):
        return SourceError(type(error).__name__)
    code = error.response["Error"]["Code"]
    return SourceGone("the object version does not exist") if code in _GONE else SourceError(code)
