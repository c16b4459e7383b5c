"""The stock worker: the bare one with Powertools' idempotency as its documentation puts the two together.

https://docs.aws.amazon.com/powertools/python/latest/utilities/idempotency/, "Integrations, batch utility" and "Lambda
timeouts". Better than the example there in two ways that a careful engineer would find: the key is the row's own and
not the message's id, so a row that was sent twice is the same row; and only the paid call is guarded, so that a failing
write of the result repeats the write and not the call.
"""

from __future__ import annotations

import os
from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from aws_lambda_powertools.utilities.typing import LambdaContext

from .model import ask
from .results import store

# A batch of one that fails is a row that failed and no error of the function.
processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
persistence = DynamoDBPersistenceLayer(table_name=os.environ["IDEMPOTENCY_TABLE"])
config = IdempotencyConfig(event_key_jmespath="row_key", raise_on_no_idempotency_key=True)


@idempotent_function(data_keyword_argument="row", config=config, persistence_store=persistence)  # type: ignore[untyped-decorator]
def label_of(row: dict[str, Any]) -> str:
    return ask(row["fields"])


def record_handler(record: SQSRecord) -> None:
    row = record.json_body
    store(row["row"], label_of(row=row))


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    # Without it a record in progress would have no end, and a row of a killed invocation none for an hour.
    config.register_lambda_context(context)
    return process_partial_response(event=event, record_handler=record_handler, processor=processor, context=context)
