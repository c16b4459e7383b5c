"""Whose requests the local cloud answers: those of its own account and Region.

MiniStack keeps apart what it has by the Region and by a key of twelve digits, which it takes for an account; a client
with another one would find empty tables and no queues, and no hint why.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qs

from local.settings import ACCOUNT, REGION
from local.wire_errors import WireError, wire_error

_CREDENTIAL = re.compile(r"Credential=([^/,\s]+)/\d{8}/([^/,\s]+)/([^/,\s]+)/aws4_request")
_ACCOUNT = re.compile(r"\d{12}")


def refusal_of(headers: Mapping[str, str], query: str) -> WireError | None:
    """The refusal of a request signed for another account or Region; None when it may pass. Names in lower case."""
    signed = _CREDENTIAL.search(headers.get("authorization", "")) or _CREDENTIAL.search(_presigned(query))
    if signed is None:
        return None
    key, region, service = signed.groups()
    if region != REGION:
        message = (
            f"The local cloud has one Region, {REGION}, and this request is for {region}; set AWS_REGION={REGION}."
        )
        return wire_error(403, "SignatureDoesNotMatch", message, service, headers)
    if _ACCOUNT.fullmatch(key) and key != ACCOUNT:
        message = (
            f"The local cloud has one account, {ACCOUNT}, and this key is another; set AWS_ACCESS_KEY_ID={ACCOUNT}."
        )
        return wire_error(403, "UnrecognizedClientException", message, service, headers)
    return None


def _presigned(query: str) -> str:
    return f"Credential={parse_qs(query).get('X-Amz-Credential', [''])[0]}"
