"""The `finish` Lambda function: one tick per invocation by its schedule; the event itself says nothing."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

import boto3

from functions.clock import wall_clock
from functions.events.publisher import CLIENT_CONFIG
from functions.failures import without_texts
from functions.finish.build import Clients, build_tick
from functions.finish.tick import logger
from functions.metrics import write_counts
from functions.settings import FinishSettings

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@cache
def _settings() -> FinishSettings:
    return FinishSettings.from_env()


@cache
def _clients() -> Clients:
    dynamodb = boto3.resource("dynamodb")
    return Clients(
        prospects=dynamodb.Table(_settings().prospects_table),
        idempotency=dynamodb.Table(_settings().idempotency_table),
        s3=boto3.client("s3"),
        sns=boto3.client("sns"),
        sqs=boto3.client("sqs"),
        lambda_=boto3.client("lambda"),
        events=boto3.client("eventbridgev2", config=CLIENT_CONFIG),
    )


@without_texts
@logger.inject_lambda_context
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """How many open uploads ended their look how. Raises TickFailedError where some could not be looked at."""
    deadline = wall_clock() + context.get_remaining_time_in_millis() / 1000
    return build_tick(_settings(), _clients(), deadline=deadline, count=partial(write_counts, "finish")).run()
