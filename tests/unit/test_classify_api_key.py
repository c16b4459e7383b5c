"""The API key: read from a real secret, kept a while, read again after a refusal, and never quoted."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest
from moto import mock_aws

from functions.api_key import FAILURE_AGE_S, MAX_AGE_S, ApiKey, KeyUnavailableError, key_in


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        client = boto3.client("secretsmanager", region_name="eu-west-1")
        client.create_secret(Name="key", SecretString="sk-1")
        yield client


class Reads:
    """Counts what is read of the client it wraps."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.number = 0

    def get_secret_value(self, **arguments: Any) -> Any:
        self.number += 1
        return self._client.get_secret_value(**arguments)


def test_a_key_is_kept_and_read_again_when_it_is_old(client: Any) -> None:
    now = [1_000.0]
    reads: Any = Reads(client)
    key = ApiKey(reads, "key", clock=lambda: now[0])
    assert [key.get(), key.get()] == ["sk-1", "sk-1"]
    client.put_secret_value(SecretId="key", SecretString='{"api_key": "sk-2"}')
    now[0] += MAX_AGE_S
    assert (key.get(), reads.number) == ("sk-1", 1)
    now[0] += 1
    assert (key.get(), reads.number) == ("sk-2", 2)


def test_a_failure_to_read_answers_a_whole_batch_and_is_tried_again_later(client: Any) -> None:
    now = [1_000.0]
    reads: Any = Reads(client)
    key = ApiKey(reads, "absent", clock=lambda: now[0])

    def get(_: int) -> str:
        try:
            return key.get()
        except KeyUnavailableError:
            return "none"

    with ThreadPoolExecutor(10) as pool:
        assert set(pool.map(get, range(10))) == {"none"}
    assert reads.number == 1
    client.create_secret(Name="absent", SecretString="sk-3")
    now[0] += FAILURE_AGE_S
    assert (key.get(), reads.number) == ("sk-3", 2)


def test_a_refused_key_is_read_again_at_once(client: Any) -> None:
    key = ApiKey(client, "key")
    assert key.get() == "sk-1"
    client.put_secret_value(SecretId="key", SecretString="sk-2")
    key.forget("sk-1")
    assert key.get() == "sk-2"


def test_a_late_refusal_of_an_old_key_keeps_the_new_one(client: Any) -> None:
    reads: Any = Reads(client)
    key = ApiKey(reads, "key")
    key.get()
    key.forget("sk-0")
    key.get()
    assert reads.number == 1


def test_a_cold_batch_reads_once(client: Any) -> None:
    reads: Any = Reads(client)
    key = ApiKey(reads, "key")
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: key.get(), range(8))) == {"sk-1"}
    assert reads.number == 1


def test_a_secret_that_is_not_there_is_told_by_its_code(client: Any) -> None:
    with pytest.raises(KeyUnavailableError, match="the secret cannot be read: ResourceNotFoundException"):
        ApiKey(client, "other").get()


@pytest.mark.parametrize(
    ("secret", "key"),
    [(" sk-1\n", "sk-1"), ('{"api_key":"sk-1"}', "sk-1"), ('\n{"api_key": " sk-1 ", "x": 1}', "sk-1")],
)
def test_the_key_in_a_secret(secret: str, key: str) -> None:
    assert key_in(secret) == key


@pytest.mark.parametrize(
    "secret", ["", "  ", "sk 1", "sk-1\r\nx: y", "sk-ü", "{", "{}", '{"api_key": 1}', '{"key": "sk-1"}']
)
def test_a_secret_without_a_key_is_refused_and_not_quoted(secret: str) -> None:
    with pytest.raises(KeyUnavailableError, match="the secret holds no API key") as refusal:
        key_in(secret)
    assert "sk" not in str(refusal.value)
