"""What a request asks, told from its bytes alone: of every operation that our functions call, as botocore sends it."""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.awsrequest import AWSPreparedRequest

from local.faults.requests import Request, asked_of
from local.faults.rules import Asked
from local.settings import ACCOUNT, REGION, SECRET

KEY = {"id": {"S": "1"}}
OBJECT = {"Bucket": "bucket", "Key": "uploads/a b.csv"}
CALLS: list[tuple[str, str, dict[str, Any], str]] = [
    ("dynamodb", "get_item", {"TableName": "rows", "Key": KEY}, "rows"),
    ("dynamodb", "put_item", {"TableName": "rows", "Item": KEY}, "rows"),
    ("dynamodb", "update_item", {"TableName": "rows", "Key": KEY}, "rows"),
    ("dynamodb", "delete_item", {"TableName": "rows", "Key": KEY}, "rows"),
    ("dynamodb", "query", {"TableName": "rows"}, "rows"),
    ("dynamodb", "batch_get_item", {"RequestItems": {"rows": {"Keys": [KEY]}}}, "rows"),
    (
        "dynamodb",
        "transact_write_items",
        {"TransactItems": [{"Put": {"TableName": name, "Item": KEY}} for name in ("rows", "effects")]},
        "rows effects",
    ),
    ("sqs", "send_message", {"QueueUrl": "http://q/work", "MessageBody": "x"}, "http://q/work"),
    (
        "sqs",
        "change_message_visibility",
        {"QueueUrl": "http://q/work", "ReceiptHandle": "r", "VisibilityTimeout": 1},
        "http://q/work",
    ),
    ("sqs", "get_queue_attributes", {"QueueUrl": "http://q/work"}, "http://q/work"),
    ("sns", "publish", {"TopicArn": "arn:topic", "Message": "m"}, "arn:topic"),
    ("secretsmanager", "get_secret_value", {"SecretId": "key"}, "key"),
    ("lambda", "invoke", {"FunctionName": "intake", "Payload": b"{}"}, "intake"),
    (
        "eventbridgev2",
        "put_events",
        {"EventBusArn": "arn:bus", "Entries": [{"Source": "s", "DetailType": "d", "Detail": "{}"}]},
        "arn:bus",
    ),
    ("s3", "get_object", OBJECT, "bucket/uploads/a%20b.csv"),
    ("s3", "head_object", OBJECT, "bucket/uploads/a%20b.csv"),
    ("s3", "put_object", {**OBJECT, "Body": b"x"}, "bucket/uploads/a%20b.csv"),
    ("s3", "delete_object", OBJECT, "bucket/uploads/a%20b.csv"),
    ("s3", "list_object_versions", {"Bucket": "bucket"}, "bucket"),
    ("s3", "list_objects_v2", {"Bucket": "bucket"}, "bucket"),
    ("s3", "create_multipart_upload", OBJECT, "bucket/uploads/a%20b.csv"),
    ("s3", "upload_part", {**OBJECT, "PartNumber": 1, "UploadId": "u", "Body": b"x"}, "bucket/uploads/a%20b.csv"),
    ("s3", "complete_multipart_upload", {**OBJECT, "UploadId": "u"}, "bucket/uploads/a%20b.csv"),
    ("s3", "abort_multipart_upload", {**OBJECT, "UploadId": "u"}, "bucket/uploads/a%20b.csv"),
]


class _SentError(Exception):
    """Nothing more is to be sent."""

    def __init__(self, request: AWSPreparedRequest) -> None:
        super().__init__()
        self.request = request


def _keep(request: AWSPreparedRequest, **_: Any) -> None:
    raise _SentError(request)


@cache
def client_of(service: str) -> Any:
    client = boto3.client(
        service,
        endpoint_url="http://127.0.0.1:9",
        region_name=REGION,
        aws_access_key_id=ACCOUNT,
        aws_secret_access_key=SECRET,
    )
    client.meta.events.register("before-send", _keep)
    return client


@pytest.mark.parametrize(("service", "method", "arguments", "resource"), CALLS, ids=[call[1] for call in CALLS])
def test_operation_and_resource_of_a_request(
    service: str, method: str, arguments: dict[str, Any], resource: str
) -> None:
    client = client_of(service)
    with pytest.raises(_SentError) as sent:
        getattr(client, method)(**arguments)
    prepared, operation = sent.value.request, client.meta.method_to_api_mapping[method]
    parts = urlsplit(prepared.url)
    headers = {
        name.lower(): value if isinstance(value, str) else value.decode() for name, value in prepared.headers.items()
    }
    body = prepared.body if isinstance(prepared.body, bytes) else str(prepared.body or "").encode()
    asked = asked_of(Request(prepared.method, parts.path, parts.query, headers, body), "worker")
    assert asked == Asked(client.meta.service_model.signing_name, operation, resource, "worker")
