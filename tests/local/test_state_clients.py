"""Which clients find the stacks: those of the account and the Region, told so in every wire format."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from local.clients import client_environment
from local.settings import ACCOUNT, REGION, SECRET
from tests.local.toy import Toy, served

READS: dict[str, Callable[[Any], Any]] = {
    "dynamodb": lambda client: client.list_tables(),
    "s3": lambda client: client.list_buckets(),
    "sns": lambda client: client.list_topics(),
    "sqs": lambda client: client.list_queues(),
    "lambda": lambda client: client.list_functions(),
    "cloudwatch": lambda client: client.list_metrics(),
    "eventbridgev2": lambda client: client.list_event_buses(),
}


@pytest.fixture(scope="module")
def running() -> Iterator[Toy]:
    with served() as toy:
        yield toy


def client(toy: Toy, service: str, key: str = ACCOUNT, region: str = REGION) -> Any:
    make: Any = boto3.client
    return make(
        service,
        endpoint_url=toy.clients.endpoint,
        region_name=region,
        aws_access_key_id=key,
        aws_secret_access_key=SECRET,
        config=Config(signature_version="s3v4") if service == "s3" else None,
    )


@pytest.mark.parametrize("service", READS)
def test_another_region_is_refused_instead_of_empty(running: Toy, service: str) -> None:
    with pytest.raises(ClientError) as refused:
        READS[service](client(running, service, region="eu-west-1"))
    assert refused.value.response["Error"]["Message"] == (
        "The local cloud has one Region, us-east-1, and this request is for eu-west-1; set AWS_REGION=us-east-1."
    )


@pytest.mark.parametrize("service", READS)
def test_another_account_is_refused_instead_of_empty(running: Toy, service: str) -> None:
    with pytest.raises(ClientError) as refused:
        READS[service](client(running, service, key="111111111111"))
    assert "set AWS_ACCESS_KEY_ID=000000000000." in refused.value.response["Error"]["Message"]


@pytest.mark.parametrize("service", READS)
def test_its_own_region_and_account_are_served(running: Toy, service: str) -> None:
    assert READS[service](client(running, service))["ResponseMetadata"]["HTTPStatusCode"] == 200


def test_a_signed_address_of_another_region_is_refused_too(running: Toy) -> None:
    client(running, "s3").create_bucket(Bucket="signed")
    client(running, "s3").put_object(Bucket="signed", Key="k", Body=b"text")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    address = client(running, "s3").generate_presigned_url("get_object", Params={"Bucket": "signed", "Key": "k"})
    with opener.open(address) as answer:
        assert answer.read() == b"text"
    away = client(running, "s3", region="eu-west-1")
    address = away.generate_presigned_url("get_object", Params={"Bucket": "signed", "Key": "k"})
    with pytest.raises(urllib.error.HTTPError, match="403") as refused:
        opener.open(address)
    refused.value.close()


def test_the_variables_that_are_shown_are_enough(running: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of somebody else")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    for name, value in client_environment(running.clients.endpoint).items():
        monkeypatch.setenv(name, value)
    assert boto3.Session().client("s3").list_buckets()["ResponseMetadata"]["HTTPStatusCode"] == 200
