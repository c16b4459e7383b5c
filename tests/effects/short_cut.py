"""moto's DynamoDB without the wire: its own operations, asked with what boto3 would send, answered with what it would
parse.

Nothing is left out but signing, HTTP and the spelling of answers, which take two thirds of a call's time; a schedule
makes a hundred calls.
"""

from __future__ import annotations

import json
from typing import Any

from botocore import xform_name
from moto.core.exceptions import JsonRESTError
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.dynamodb.responses import DynamoHandler

OPERATIONS = frozenset(
    {"GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"}
)


def take_short_cut(client: Any) -> None:
    """From now on this `dynamodb` client asks moto directly."""
    client.meta.events.register("before-call.dynamodb", _answered)


class _Http:
    """Of an HTTP response, what botocore asks."""

    def __init__(self, status_code: int) -> None:
        self.status_code = status_code


def _answered(model: Any, params: dict[str, Any], request_signer: Any, **_: Any) -> tuple[_Http, dict[str, Any]] | None:
    if model.name not in OPERATIONS:
        return None
    handler: Any = DynamoHandler()
    handler.body = json.loads(params["body"])
    handler.region, handler.current_account = request_signer.region_name, DEFAULT_ACCOUNT_ID
    try:
        result = getattr(handler, xform_name(model.name))().result
    except JsonRESTError as error:
        told = json.loads(error.description)
        named = {"Code": told["__type"].rpartition("#")[2], "Message": told.get("message") or told.get("Message", "")}
        return _Http(400), {"Error": named, **told, "ResponseMetadata": {"HTTPStatusCode": 400}}
    # Spelled out and read again: what is handed over may be changed by whoever gets it.
    return _Http(200), {**json.loads(json.dumps(result)), "ResponseMetadata": {"HTTPStatusCode": 200}}
