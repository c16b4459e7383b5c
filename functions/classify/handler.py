"""The classify worker on Lambda: a batch of its queue in, the messages to deliver again out."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

import boto3
from aws_lambda_powertools import Logger, Metrics
from botocore.config import Config

from functions.api_key import ApiKey
from functions.classify.claude import DEFAULT_BASE_URL, AnthropicProvider, BedrockProvider, Claude, Provider
from functions.classify.delays import Delays
from functions.classify.effect import Ask, build_store, guard
from functions.classify.queues import Queues
from functions.classify.reception import Reception
from functions.classify.report import Report
from functions.classify.results import failed_messages
from functions.classify.row_event import Message
from functions.classify.settlement import Settlement
from functions.classify.worker import Worker
from functions.clock import wall_clock
from functions.effects.store import refuse_disabled_idempotency
from functions.failures import without_texts
from functions.settings import ClassifySettings, SettingsError
from functions.uploads.table import UploadsTable

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

# Bounded, so that what follows an answer ends within the time that is kept for it.
AWS = Config(
    connect_timeout=1, read_timeout=3, retries={"mode": "standard", "total_max_attempts": 3}, max_pool_connections=50
)


def build_provider(settings: ClassifySettings) -> Provider:
    """Where Claude is reached. Raises SettingsError."""
    if settings.model_provider == "bedrock":
        region = os.environ.get("AWS_REGION", "")
        if not region:
            raise SettingsError("AWS_REGION is not set; name the Region whose Bedrock is to be asked")
        return BedrockProvider(region)
    if not settings.anthropic_secret_id:
        raise SettingsError("ANTHROPIC_SECRET_ID is not set; name the secret that holds the Anthropic API key")
    key = ApiKey(boto3.client("secretsmanager", config=AWS), settings.anthropic_secret_id)
    return AnthropicProvider(key, os.environ.get("ANTHROPIC_BASE_URL") or DEFAULT_BASE_URL)


def build_worker(settings: ClassifySettings, ask: Ask) -> Worker:
    """The worker on the real tables and queues, asking the model through `ask`."""
    dynamodb = boto3.resource("dynamodb", config=AWS)
    uploads = UploadsTable(dynamodb.Table(settings.prospects_table), retention_days=settings.upload_retention_days)
    store = build_store(dynamodb.Table(settings.idempotency_table), settings)
    queues = Queues(boto3.client("sqs", config=AWS), settings.classify_queue_url, settings.classify_dlq_url)
    settlement = Settlement(
        rows=uploads,
        store=store,
        queues=queues,
        delays=Delays(settings.backoff_base_s, settings.backoff_max_s),
        max_receives=settings.max_receives,
        max_paid_attempts=settings.max_paid_attempts,
    )
    reception = Reception(uploads=uploads, settlement=settlement, queues=queues, max_hops=settings.max_hops)
    return Worker(
        uploads=uploads,
        reception=reception,
        settlement=settlement,
        guarded=guard(store, ask, model_deadline_s=settings.model_deadline_s),
    )


def message_of(record: dict[str, Any]) -> Message:
    return Message(
        message_id=record["messageId"],
        receipt=record["receiptHandle"],
        body=record["body"],
        receives=int(record["attributes"]["ApproximateReceiveCount"]),
    )


# These log request bodies at DEBUG, and so the rows in them, whatever level the function is given.
for _name in ("boto3", "botocore", "urllib3"):
    logging.getLogger(_name).setLevel(logging.WARNING)

refuse_disabled_idempotency()
_settings = ClassifySettings.from_env()
_claude = Claude(build_provider(_settings), deadline_s=_settings.model_deadline_s)
_worker = build_worker(_settings, _claude.ask)
# The namespace is the deployment's: POWERTOOLS_METRICS_NAMESPACE.
_metrics = Metrics(service="classify")
_report = Report(Logger(service="classify"), _metrics)


@without_texts
@_metrics.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """An SQS batch with ReportBatchItemFailures: lists the messages that are not done with."""
    deadline = wall_clock() + context.get_remaining_time_in_millis() / 1000
    results = _worker.handle([message_of(record) for record in event["Records"]], deadline)
    _report.publish(results, context.aws_request_id)
    return failed_messages(results)
