"""The `finish` Lambda function: one tick per invocation by its schedule; the event itself says nothing."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import boto3

from functions.clock import wall_clock
from functions.events.publisher import CLIENT_CONFIG, Publisher
from functions.finish.announce import Announcer
from functions.finish.complete import Completion
from functions.finish.tick import Tick, logger
from functions.settings import FinishSettings
from functions.uploads.table import UploadsTable

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext


@cache
def _settings() -> FinishSettings:
    return FinishSettings.from_env()


@cache
def _table() -> UploadsTable:
    return UploadsTable(boto3.resource("dynamodb").Table(_settings().prospects_table))


@cache
def _completion() -> Completion:
    return Completion(_table(), boto3.client("s3"), _settings().upload_retention_days, wall_clock)


@cache
def _announcer() -> Announcer:
    publisher = Publisher(boto3.client("eventbridgev2", config=CLIENT_CONFIG), _settings().event_bus_arn)
    return Announcer(_table(), publisher, boto3.client("sns"), _settings().alerts_topic_arn)


@cache
def _lambda() -> Any:
    return boto3.client("lambda")


@logger.inject_lambda_context
def handler(_event: dict[str, Any], context: LambdaContext) -> dict[str, int]:
    """How many open uploads ended their look how. Raises TickFailedError where some could not be looked at."""
    settings = _settings()
    return Tick(
        _table(),
        _completion(),
        _announcer(),
        _lambda(),
        intake_function=settings.intake_function_name,
        tick_s=settings.tick_s,
        deadline=wall_clock() + context.get_remaining_time_in_millis() / 1000,
        clock=wall_clock,
    ).run()
