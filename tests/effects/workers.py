"""The real workers in a cold sandbox each: put together for one delivery and forgotten after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import boto3

from functions.api_key import ApiKey
from functions.classify.delays import Delays
from functions.classify.effect import build_store, guard
from functions.classify.queues import Queues as WorkerQueues
from functions.classify.reception import Reception
from functions.classify.results import Result
from functions.classify.row_event import Message
from functions.classify.settlement import Settlement
from functions.classify.worker import Worker
from functions.effects.resolve import Resolver
from functions.effects.table import EffectTable
from functions.events.publisher import Publisher
from functions.finish.build import Clients, build_tick
from functions.finish.storage import source_of
from functions.intake.handler import build
from functions.operate.retry import Retry
from functions.settings import ClassifySettings, FinishSettings, IntakeSettings
from functions.uploads.table import UploadsTable
from tests.effects.account import REGION, Account
from tests.effects.people import Model
from tests.effects.stand_ins import DLQ, QUEUE, Bus, Clock, Invocations, Queues, Secrets, Topic

INTAKE_S, CLASSIFY_S, FINISH_S = 120.0, 60.0, 60.0
"""How long an invocation may last."""
BUS = "arn:bus"
QUICK: dict[str, Any] = {
    "max_receives": 3,
    "stop_before_timeout_s": 20.0,
    "intake_timeout_s": INTAKE_S,
    "quiet_s": 60.0,
    "object_sweep_s": 120.0,
    "object_grace_s": 0.0,
}
"""Shorter than what is deployed, in the same proportions."""


@dataclass
class Between:
    """All that lives on between two deliveries, but for the tables and the bucket: plain data."""

    clock: Clock
    queues: Queues
    bus: Bus
    topic: Topic
    invocations: Invocations
    model: Model
    tick_at: float
    idle_ticks: int = 0
    orders_given: int = 0
    broken: list[str] = field(default_factory=list)
    """What a worker raised, but for kills."""


class _Session(boto3.Session):
    """For intake: S3 and DynamoDB on moto, the stand-ins for the rest."""

    def __init__(self, **clients: Any) -> None:
        super().__init__("testing", "testing", region_name=REGION)
        self._clients = clients

    def client(self, service_name: str, **arguments: Any) -> Any:  # type: ignore[override]
        return self._clients[service_name]

    def resource(self, service_name: str, **arguments: Any) -> Any:  # type: ignore[override]
        return self._clients[service_name]


class Workers:
    """`settings` are those that a scenario wants otherwise, of any worker."""

    def __init__(self, account: Account, dynamodb: Any, settings: Mapping[str, Any]) -> None:
        self._account = account
        self._dynamodb = dynamodb
        self._settings = {
            **QUICK,
            "uploads_bucket": account.bucket,
            "prospects_table": account.prospects.name,
            "idempotency_table": account.idempotency.name,
            "event_bus_arn": BUS,
            "alerts_topic_arn": "arn:topic",
            "intake_function_name": "intake",
            "classify_queue_url": QUEUE,
            "classify_dlq_url": DLQ,
            **settings,
        }

    def intake(self, between: Between, event: Mapping[str, Any]) -> None:
        settings = IntakeSettings.model_validate(self._settings)
        session = _Session(s3=self._account.s3, dynamodb=self._dynamodb, eventbridgev2=between.bus, sns=between.topic)
        build(settings, session, between.clock).handle(event, INTAKE_S)

    def classify(self, between: Between, message: Message) -> Result:
        clock, uploads = between.clock, self.uploads(between)
        settings = ClassifySettings.model_validate(self._settings)
        queues = WorkerQueues(between.queues, QUEUE, DLQ)  # type: ignore[arg-type]
        store = build_store(self._account.idempotency, settings, clock)
        key = ApiKey(Secrets(), "secret", clock=clock)  # type: ignore[arg-type]
        settlement = Settlement(
            rows=uploads,
            store=store,
            queues=queues,
            delays=Delays(4.0, 60.0, Random(7)),
            max_receives=settings.max_receives,
            max_paid_attempts=settings.max_paid_attempts,
            clock=clock,
        )
        worker = Worker(
            uploads=uploads,
            reception=Reception(uploads=uploads, settlement=settlement, queues=queues, max_hops=4),
            settlement=settlement,
            guarded=guard(store, partial(between.model.ask, key), model_deadline_s=20.0, clock=clock),
        )
        [result] = worker.handle([message], clock() + CLASSIFY_S)
        return result

    def finish(self, between: Between) -> None:
        clients = Clients(
            prospects=self._account.prospects,
            idempotency=self._account.idempotency,
            s3=self._account.s3,
            sns=between.topic,  # type: ignore[arg-type]
            sqs=between.queues,  # type: ignore[arg-type]
            lambda_=between.invocations,  # type: ignore[arg-type]
            events=between.bus,
        )
        settings = FinishSettings.model_validate(self._settings)
        deadline = between.clock() + FINISH_S
        publisher = Publisher(between.bus, BUS)
        build_tick(settings, clients, deadline=deadline, clock=between.clock, publisher=publisher).run()

    # --- what operators and checks use -----------------------------------------------------------------------------

    def uploads(self, between: Between) -> UploadsTable:
        return UploadsTable(self._account.prospects, retention_days=400, clock=between.clock)

    def effects(self) -> EffectTable:
        return EffectTable(self._account.idempotency)

    def resolver(self, between: Between) -> Resolver:
        return Resolver(self.effects(), retention_days=400, clock=between.clock)

    def retry(self, between: Between) -> Retry:
        return Retry(
            table=self.uploads(between),
            effects=self.effects(),
            resolver=self.resolver(between),
            open_source=source_of(self._account.s3),
            max_paid_attempts=1,
            clock=between.clock,
        )
