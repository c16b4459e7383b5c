"""The tick of one invocation, put together from what lives as long as the sandbox."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from functions.clock import Clock, wall_clock
from functions.effects.claims import Claims
from functions.effects.table import EffectTable
from functions.events.publisher import EventsClient, Publisher
from functions.finish.announce import Announcer
from functions.finish.attention import Attention
from functions.finish.complete import Completion
from functions.finish.look import Look, Pace
from functions.finish.lost_objects import LostObjects
from functions.finish.settling import Settling
from functions.finish.storage import has_source, source_of
from functions.finish.sweep import Sweep
from functions.finish.tick import RESERVE_S, Tick
from functions.finish.work_queue import WorkQueue
from functions.metrics import Count, uncounted
from functions.settings import FinishSettings
from functions.uploads.sweeps import SweepsTable
from functions.uploads.table import UploadsTable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table
    from mypy_boto3_lambda import LambdaClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sns import SNSClient
    from mypy_boto3_sqs import SQSClient


@dataclass(frozen=True)
class Clients:
    """What AWS is reached through: two tables and five services."""

    prospects: Table
    idempotency: Table
    s3: S3Client
    sns: SNSClient
    sqs: SQSClient
    lambda_: LambdaClient
    events: EventsClient


def build_tick(
    settings: FinishSettings,
    clients: Clients,
    *,
    deadline: float,
    clock: Clock = wall_clock,
    publisher: Publisher | None = None,
    count: Count = uncounted,
) -> Tick:
    """`deadline`: when the invocation is killed, in seconds since the epoch."""
    kept_days = settings.upload_retention_days
    table = UploadsTable(clients.prospects, retention_days=kept_days, clock=clock)
    sweeps = SweepsTable(clients.prospects, retention_days=kept_days, clock=clock)
    effects = EffectTable(clients.idempotency)
    publisher = publisher or Publisher(clients.events, settings.event_bus_arn)
    claimed_until, until = math.ceil(deadline), deadline - RESERVE_S
    attention = Attention(
        table=table,
        sweeps=sweeps,
        effects=effects,
        max_paid_attempts=settings.max_paid_attempts,
        tick_s=settings.tick_s,
        is_source_kept=partial(has_source, clients.s3),
        clock=clock,
    )
    look = Look(
        table=table,
        completion=Completion(table, clients.s3, kept_days, clock),
        announcer=Announcer(table, publisher, clients.sns, settings.alerts_topic_arn),
        attention=attention,
        sweep=_sweep(
            settings,
            clients,
            table=table,
            sweeps=sweeps,
            effects=effects,
            publisher=publisher,
            clock=clock,
            count=count,
        ),
        queue=WorkQueue(clients.sqs, settings.classify_queue_url, sweeps),
        lambda_client=clients.lambda_,
        intake_function=settings.intake_function_name,
        pace=Pace(settings.tick_s, settings.quiet_s, settings.stall_s),
        claimed_until=claimed_until,
        until=until,
        clock=clock,
        count=count,
    )
    return Tick(
        table=table,
        look=look,
        attention=attention,
        lost_objects=_lost_objects(settings, clients, table, sweeps, clock),
        claimed_until=claimed_until,
        until=until,
        clock=clock,
    )


def _sweep(
    settings: FinishSettings,
    clients: Clients,
    *,
    table: UploadsTable,
    sweeps: SweepsTable,
    effects: EffectTable,
    publisher: Publisher,
    clock: Clock,
    count: Count,
) -> Sweep:
    claims = Claims(
        effects,
        max_paid_attempts=settings.max_paid_attempts,
        retention_days=settings.outcome_retention_days,
        clock=clock,
    )
    settling = Settling(
        rows=table,
        effects=effects,
        claims=claims,
        max_paid_attempts=settings.max_paid_attempts,
        clock=clock,
    )
    return Sweep(
        table=table,
        sweeps=sweeps,
        settling=settling,
        publisher=publisher,
        bus_arn=settings.event_bus_arn,
        open_source=source_of(clients.s3),
        max_sweeps=settings.max_sweeps,
        clock=clock,
        count=count,
    )


def _lost_objects(
    settings: FinishSettings, clients: Clients, table: UploadsTable, sweeps: SweepsTable, clock: Clock
) -> LostObjects:
    return LostObjects(
        table=table,
        sweeps=sweeps,
        s3=clients.s3,
        lambda_client=clients.lambda_,
        bucket=settings.uploads_bucket,
        intake_function=settings.intake_function_name,
        period_s=settings.object_sweep_s,
        grace_s=settings.object_grace_s,
        intake_timeout_s=settings.intake_timeout_s,
        retention_days=settings.upload_retention_days,
        clock=clock,
    )
