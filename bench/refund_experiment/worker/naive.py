"""The refund tool as commonly built: with nothing, with Powertools' decorator, and with a conditional write besides.

After the article's description and Powertools' documentation
(https://docs.aws.amazon.com/powertools/python/latest/utilities/idempotency/ and .../utilities/batch/). The refund is a
row; its key is the request_id where the write is conditional, else random. Amounts are integers in minor units.
"""

from __future__ import annotations

import os
import uuid
from typing import Any

import boto3
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent,
    idempotent_function,
)
from aws_lambda_powertools.utilities.typing import LambdaContext
from botocore.exceptions import ClientError

from .faults import arrived, following

WRITTEN = "written"
"""The point after the write, where the article's tool fails."""

DECORATED, CONDITIONAL = os.environ["DECORATOR"] == "on", os.environ["CONDITIONAL"] == "on"

_rows = boto3.resource("dynamodb").Table(os.environ["ROWS_TABLE"])


class KeyReusedError(Exception):
    """The key's row is another refund."""


class BatchFailedError(Exception):
    """Some record of the batch failed."""


def pay(request: dict[str, Any]) -> dict[str, Any]:
    """Write the refund's row, then whatever comes after it."""
    status = _write(request) if CONDITIONAL else _append(request)
    arrived(WRITTEN)
    return {"status": status, "request_id": request["request_id"]}


def _append(request: dict[str, Any]) -> str:
    _rows.put_item(Item={**_item(request), "row_id": str(uuid.uuid4())})
    return "done"


def _write(request: dict[str, Any]) -> str:
    row_id = request["request_id"]
    try:
        _rows.put_item(Item={**_item(request), "row_id": row_id}, ConditionExpression="attribute_not_exists(row_id)")
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        known = _rows.get_item(Key={"row_id": row_id}, ConsistentRead=True)["Item"]
        if any(known[name] != value for name, value in _item(request).items()):
            raise KeyReusedError("this request_id was used for another refund") from None
        return "already_done"
    return "done"


def _item(request: dict[str, Any]) -> dict[str, Any]:
    return {name: request[name] for name in ("request_id", "order_id", "amount_minor", "currency")}


def _layer() -> DynamoDBPersistenceLayer:
    """One for each guarded function; without the decorator nobody asks it."""
    return DynamoDBPersistenceLayer(table_name=os.environ.get("RECORDS_TABLE", ""))


config = IdempotencyConfig(
    event_key_jmespath="request_id", payload_validation_jmespath="amount_minor", raise_on_no_idempotency_key=True
)


# On the handler where one event is one refund, on the function of one record where a batch is several.
@idempotent(config=config, persistence_store=_layer())
def _event_once(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    return pay(event)


@idempotent_function(data_keyword_argument="request", config=config, persistence_store=_layer())  # type: ignore[untyped-decorator]
def _record_once(*, request: dict[str, Any]) -> dict[str, Any]:
    return pay(request)


def handler(event: dict[str, Any], context: LambdaContext) -> Any:
    """One refund, however it was invoked."""
    with following(event["request_id"]):
        return _event_once(event, context) if DECORATED else pay(event)


def record_handler(record: SQSRecord) -> None:
    request = record.json_body
    with following(request["request_id"]):
        _ = _record_once(request=request) if DECORATED else pay(request)


# A batch of one that fails is a record that failed and no error of the function.
processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)


def partial(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    """A batch with ReportBatchItemFailures."""
    config.register_lambda_context(context)
    return process_partial_response(event=event, record_handler=record_handler, processor=processor, context=context)


def whole(event: dict[str, Any], context: LambdaContext) -> None:
    """A batch without it, worked through to its end; one failed record fails it all."""
    if partial(event, context)["batchItemFailures"]:
        raise BatchFailedError("a record of this batch failed")


def loop(event: dict[str, Any], context: LambdaContext) -> None:
    """A batch without it, as a plain loop: the first failed record ends it."""
    config.register_lambda_context(context)
    for record in event["Records"]:
        record_handler(SQSRecord(record))
