"""An error as a service itself would put it on the wire, so that botocore reads the code and the sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape

import cbor2


@dataclass(frozen=True)
class WireError:
    status: int
    headers: Mapping[str, str]
    body: bytes


def wire_error(status: int, code: str, message: str, service: str, asked: Mapping[str, str]) -> WireError:
    """`service` is the signing name; `asked` the request's headers, in lower case.

    S3 and the query services answer XML, the smithy ones CBOR, all others JSON.
    """
    sent = asked.get("content-type", "")
    if asked.get("smithy-protocol") == "rpc-v2-cbor":
        kind, body = "application/cbor", cbor2.dumps({"__type": code, "message": message})
    elif service == "s3":
        kind, body = "application/xml", f"<Error>{_xml(code, message)}</Error>".encode()
    elif sent.startswith("application/x-www-form-urlencoded"):
        kind, body = "text/xml", f"<ErrorResponse><Error>{_xml(code, message)}</Error></ErrorResponse>".encode()
    else:
        kind, body = sent or "application/json", json.dumps({"__type": code, "message": message}).encode()
    more = {"smithy-protocol": "rpc-v2-cbor"} if kind == "application/cbor" else {"x-amzn-errortype": code}
    return WireError(status, {"content-type": kind, **more}, body)


def _xml(code: str, message: str) -> str:
    return f"<Code>{escape(code)}</Code><Message>{escape(message)}</Message>"
