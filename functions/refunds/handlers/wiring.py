"""What the handlers share: logs and metrics of ids and codes, and when an invocation ends."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from aws_lambda_powertools import Logger

from functions.clock import wall_clock
from functions.metrics import write_counts
from functions.refunds.adapters.paying import DONE, Told

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

# These log request bodies at DEBUG, whatever level the function is given.
for _name in ("boto3", "botocore", "urllib3", "stripe"):
    logging.getLogger(_name).setLevel(logging.WARNING)


def telling(service: str) -> Told:
    """Counts every end under the worker's name, and logs every one that is not the plain one."""
    logger = Logger(service=service)

    def told(metric: str, known: Mapping[str, str]) -> None:
        write_counts(service, {metric: 1})
        if metric != DONE:
            logger.info(metric, extra=dict(known))

    return told


def deadline_of(context: LambdaContext) -> float:
    """When this invocation is killed, seconds since the epoch."""
    return wall_clock() + context.get_remaining_time_in_millis() / 1000
