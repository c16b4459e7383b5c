"""The API key: read from Secrets Manager, kept a few minutes, read again after it was refused."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

from functions.clock import Clock, wall_clock
from functions.crash_points import crossing

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager.client import SecretsManagerClient

MAX_AGE_S = 300.0
"""A key that was rotated is in use after at most this long, or after its first refusal."""


_PASSING = frozenset({"ThrottlingException", "InternalServiceError", "RequestTimeout", "ServiceUnavailable"})
"""Codes of Secrets Manager that say nothing against the secret or the permission to read it."""
FAILURE_AGE_S = 5.0
"""A failure to read answers for this long: the rows of a batch wait for one read, not one after another for ten."""


class KeyUnavailableError(Exception):
    """The secret cannot be read or holds no key. The message names the secret's fault, never its content.

    `passing`: it may be read a moment later; nobody has to mend anything.
    """

    def __init__(self, fault: str, *, passing: bool = False) -> None:
        super().__init__(fault)
        self.passing = passing


class ApiKey:
    """One secret: the bare key, or JSON with the member `api_key`. Safe to use from many threads."""

    def __init__(
        self,
        client: SecretsManagerClient,
        secret_id: str,
        *,
        max_age_s: float = MAX_AGE_S,
        clock: Clock = wall_clock,
    ) -> None:
        self._client = client
        self._secret_id = secret_id
        self._max_age_s = max_age_s
        self._clock = clock
        self._lock = threading.Lock()
        self._key = ""
        self._read_at = 0.0
        self._failure: KeyUnavailableError | None = None

    def get(self) -> str:
        """The key, read anew when it is too old. Raises KeyUnavailableError."""
        # One thread reads; the others of a cold batch wait for it instead of reading too.
        with self._lock:
            if self._failure and self._clock() - self._read_at < FAILURE_AGE_S:
                raise KeyUnavailableError(str(self._failure), passing=self._failure.passing)
            if not self._key or self._clock() - self._read_at > self._max_age_s:
                self._key = self._read_and_note()
            return self._key

    def forget(self, key: str) -> None:
        """This key was refused. A newer one, read meanwhile by another thread, is kept."""
        with self._lock:
            if self._key == key:
                self._key = ""

    def _read_and_note(self) -> str:
        self._failure = None
        try:
            return self._read()
        except KeyUnavailableError as failure:
            self._failure = failure
            raise
        finally:
            # The end of the read: a slow failure must not be too old to answer for the threads it kept waiting.
            self._read_at = self._clock()

    def _read(self) -> str:
        try:
            with crossing("api_key.secret"):
                secret = self._client.get_secret_value(SecretId=self._secret_id).get("SecretString", "")
        except ClientError as error:
            code = error.response["Error"]["Code"]
            raise KeyUnavailableError(f"the secret cannot be read: {code}", passing=code in _PASSING) from None
        except (NoCredentialsError, PartialCredentialsError) as error:
            raise KeyUnavailableError(f"the secret cannot be read: {type(error).__name__}") from None
        except BotoCoreError as error:
            raise KeyUnavailableError(f"the secret cannot be read: {type(error).__name__}", passing=True) from None
        return key_in(secret)


def key_in(secret: str) -> str:
    """The key in a secret's text. Raises KeyUnavailableError unless it can stand in an HTTP header."""
    text = secret.strip()
    if text.startswith("{"):
        text = _member(text).strip()
    # A key with a line break would fail inside the HTTP client, after the attempt counts as sent.
    if not text or not text.isascii() or not text.isprintable() or " " in text:
        raise KeyUnavailableError('the secret holds no API key; store the bare key, or JSON like {"api_key": "…"}')
    return text


def _member(text: str) -> str:
    try:
        key = json.loads(text).get("api_key")
    except ValueError:
        return ""
    return key if isinstance(key, str) else ""
