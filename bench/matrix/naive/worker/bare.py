"""The bare worker: SQS, Lambda and the SDK with their defaults; a delivery is a request.

A batch is answered row by row with `ReportBatchItemFailures`, by Powertools' batch utility
(https://docs.aws.amazon.com/powertools/python/latest/utilities/batch/), as AWS advises for SQS
(https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html).
"""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.batch.types import PartialItemFailureResponse
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
from aws_lambda_powertools.utilities.typing import LambdaContext

from .model import ask
from .results import store

# A batch of one that fails is a row that failed and no error of the function.
processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)


def record_handler(record: SQSRecord) -> None:
    row = record.json_body
    store(row["row"], ask(row["fields"]))


def handler(event: dict[str, Any], context: LambdaContext) -> PartialItemFailureResponse:
    return process_partial_response(event=event, record_handler=record_handler, processor=processor, context=context)
