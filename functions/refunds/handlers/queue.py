"""The queue worker on Lambda: a batch of refund requests in, the messages to deliver again out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import boto3

from functions.refunds.adapters.inbox import Inbox
from functions.refunds.adapters.paying import Paying
from functions.refunds.adapters.queue import QueueWorker
from functions.refunds.adapters.settings import InboxSettings
from functions.refunds.aws import AWS
from functions.refunds.compose import build_refund
from functions.refunds.handlers.wiring import deadline_of, telling

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

_settings = InboxSettings.from_env()
_told = telling("refund-queue")
_worker = QueueWorker(
    Paying(build_refund().run, _told),
    Inbox(boto3.client("sqs", config=AWS), _settings.refund_queue_url, _settings.refund_dlq_url),
    _told,
    max_receives=_settings.refund_max_receives,
)


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, list[dict[str, str]]]:
    """An SQS batch with ReportBatchItemFailures."""
    return _worker.handle(event["Records"], deadline=deadline_of(context))
