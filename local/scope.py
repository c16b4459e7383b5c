"""Whose requests the local cloud answers: those of its own account and Region.

MiniStack keeps apart what it has by the Region and by a key of twelve digits, which it takes for an account; a client
with another one would find empty tables and no queues, and no hint why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

import cbor2

from local.settings import ACCOUNT, REGION

_CREDENTIAL = re.compile(r"Credential=([^/,\s]+)/\d{8}/([^/,\s]+)/([^/,\s]+)/aws4_request")
_ACCOUNT = re.compile(r"\d{12}")


@dataclass(frozen=True)
class Refusal:
    """A sentence with an error code that AWS has, in the wire format of the service that was asked."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def refusal_of(headers: Mapping[str, str], query: str) -> Refusal | None:
    """The refusal of a request signed for another account or Region; None when it may pass. Names in lower case."""
    signed = _CREDENTIAL.search(headers.get("authorization", "")) or _CREDENTIAL.search(_presigned(query))
    if signed is None:
        return None
    key, region, service = signed.groups()
    if region != REGION:
        message = (
            f"The local cloud has one Region, {REGION}, and this request is for {region}; set AWS_REGION={REGION}."
        )
        return _refusal("SignatureDoesNotMatch", message, service, headers)
    if _ACCOUNT.fullmatch(key) and key != ACCOUNT:
        message = (
            f"The local cloud has one account, {ACCOUNT}, and this key is another; set AWS_ACCESS_KEY_ID={ACCOUNT}."
        )
        return _refusal("UnrecognizedClientException", message, service, headers)
    return None


def _presigned(query: str) -> str:
    return f"Credential={parse_qs(query).get('X-Amz-Credential', [''])[0]}"


def _refusal(code: str, message: str, service: str, headers: Mapping[str, str]) -> Refusal:
    """S3 and the query services answer XML, the smithy ones CBOR, all others JSON."""
    sent = headers.get("content-type", "")
    if headers.get("smithy-protocol") == "rpc-v2-cbor":
        kind, body = "application/cbor", cbor2.dumps({"__type": code, "message": message})
    elif service == "s3":
        kind, body = "application/xml", f"<Error>{_xml(code, message)}</Error>".encode()
    elif sent.startswith("application/x-www-form-urlencoded"):
        kind, body = "text/xml", f"<ErrorResponse><Error>{_xml(code, message)}</Error></ErrorResponse>".encode()
    else:
        kind, body = sent or "application/json", json.dumps({"__type": code, "message": message}).encode()
    more = {"smithy-protocol": "rpc-v2-cbor"} if kind == "application/cbor" else {"x-amzn-errortype": code}
    return Refusal(403, {"content-type": kind, **more}, body)


def _xml(code: str, message: str) -> str:
    return f"<Code>{code}</Code><Message>{escape(message)}</Message>"
