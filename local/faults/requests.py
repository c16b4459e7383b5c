"""Which operation on what an HTTP request asks for, in each of the protocols that the services speak. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import cbor2

from local.faults.rules import Asked

_SIGNED = re.compile(r"Credential=([^/,\s]+)/\d{8}/[^/,\s]+/([^/,\s]+)/aws4_request")
_RPC = re.compile(r"/service/[^/]+/operation/(\w+)$")
_INVOKE = re.compile(r"/2015-03-31/functions/([^/]+)/invocations$")
_NAMES = frozenset({"TableName", "QueueUrl", "TopicArn", "EventBusArn", "SecretId", "FunctionName"})
"""Members whose value names what a request is about, wherever they stand in it."""

_S3 = (
    # (method, parameter of the query or empty, whether an object is named, operation); the first that fits holds.
    ("GET", "versions", False, "ListObjectVersions"),
    ("GET", "list-type", False, "ListObjectsV2"),
    ("POST", "uploads", True, "CreateMultipartUpload"),
    ("POST", "uploadId", True, "CompleteMultipartUpload"),
    ("PUT", "partNumber", True, "UploadPart"),
    ("DELETE", "uploadId", True, "AbortMultipartUpload"),
    ("GET", "", True, "GetObject"),
    ("HEAD", "", True, "HeadObject"),
    ("PUT", "", True, "PutObject"),
    ("DELETE", "", True, "DeleteObject"),
)


@dataclass(frozen=True)
class Request:
    """An HTTP request that was read whole; `query` as it was sent, header names in lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


def signer_of(headers: Mapping[str, str]) -> tuple[str, str]:
    """Access key and signing name of a request; both empty when it is not signed. Header names in lower case."""
    found = _SIGNED.search(headers.get("authorization", ""))
    return (found[1], found[2]) if found else ("", "")


def asked_of(request: Request, caller: str) -> Asked:
    """What it asks; operation and resource are empty where no line here knows them."""
    _, service = signer_of(request.headers)
    if service == "s3":
        return Asked(service, _s3_operation(request), request.path.lstrip("/"), caller)
    if (invoke := _INVOKE.search(request.path)) and request.method == "POST":
        return Asked(service, "Invoke", invoke[1], caller)
    operation, call = _call(request.path, request.headers, request.body)
    return Asked(service, operation, " ".join(_names(call)), caller)


def _call(path: str, headers: Mapping[str, str], body: bytes) -> tuple[str, Any]:
    """Operation and decoded request of the protocols that name it: smithy's CBOR, JSON, query."""
    if rpc := _RPC.search(path):
        return rpc[1], _decoded(cbor2.loads, body)
    if target := headers.get("x-amz-target"):
        return target.rpartition(".")[2], _decoded(json.loads, body)
    if headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        form = {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
        return form.get("Action", ""), form
    return "", {}


def _decoded(decode: Any, body: bytes) -> Any:
    try:
        return decode(body)
    except ValueError:
        return {}


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, member in value.items():
            if name in _NAMES and isinstance(member, str):
                yield member
            elif name == "RequestItems" and isinstance(member, dict):
                yield from member
            else:
                yield from _names(member)
    elif isinstance(value, list):
        for member in value:
            yield from _names(member)


def _s3_operation(request: Request) -> str:
    given = parse_qs(request.query, keep_blank_values=True)
    of_object = "/" in request.path.strip("/")
    for verb, parameter, wants_object, operation in _S3:
        if verb == request.method and wants_object == of_object and (not parameter or parameter in given):
            return operation
    return ""
