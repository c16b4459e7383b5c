"""One account on moto with intake, classify and a queue between them, so that an operator has something to order."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from moto import mock_aws

from functions.classify.billing import Answer, NoAnswer, verdict_of
from functions.classify.delays import Delays
from functions.classify.effect import build_store, guard
from functions.classify.queues import Queues
from functions.classify.reception import Reception
from functions.classify.results import Result
from functions.classify.row_event import Message
from functions.classify.settlement import Settlement
from functions.classify.task import Task
from functions.classify.worker import Worker
from functions.effects.record import EffectRecord
from functions.effects.resolve import Resolver
from functions.effects.table import EffectTable
from functions.events.publisher import Publisher
from functions.finish.build import Clients, build_tick
from functions.finish.rows import read_rows
from functions.finish.storage import source_of
from functions.finish.tally import Tally
from functions.operate.resolve import Resolve
from functions.operate.resolve_plans import ResolvePlans
from functions.operate.retry import Retry
from functions.settings import ClassifySettings, FinishSettings
from functions.uploads.keys import record_id
from functions.uploads.model import Announcement, Finished, Upload
from functions.uploads.sweeps import SweepsTable
from tests.unit.classify_world import refused, said
from tests.unit.intake_world import BUCKET, BUS, TOPIC, World

MAX_RECEIVES = 2
Reply = Callable[[Mapping[str, Any]], Answer | NoAnswer]


class NoQueues(Queues):
    """The queue's two ends as lists: what is left of a message is decided by what is acknowledged."""

    def __init__(self) -> None:
        self.dead: list[str] = []
        self.copies: list[str] = []

    def dead_letter(self, body: str, reason: str, *, upload_id: str = "", row_number: int | None = None) -> None:
        self.dead.append(reason)

    def come_back(self, receipt: str, seconds: int) -> None:
        return

    def send_again(self, body: str, seconds: int) -> None:
        self.copies.append(body)


class IntakeInvoked:
    """In place of boto3's Lambda client: an invocation of intake is intake's work, done at once."""

    def __init__(self, world: World) -> None:
        self._world = world

    def invoke(self, *, FunctionName: str, InvocationType: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        assert (FunctionName, InvocationType) == ("intake", "Event")
        self._world.deliver(json.loads(Payload))
        return {"StatusCode": 202}


class Service(World):
    """Uploads go in with `submit`, `classify` empties the queue, `finish` ends an upload whose rows have all ended."""

    def __init__(self) -> None:
        super().__init__()
        self.reply: Reply = lambda request: said()
        self.asked: list[str] = []
        self.billed = 0
        self.queues = NoQueues()
        self._taken: set[str] = set()
        self._waiting: list[tuple[str, int]] = []
        settings = ClassifySettings(
            prospects_table="prospects",
            idempotency_table="idempotency",
            classify_queue_url="q",
            classify_dlq_url="d",
            alerts_topic_arn="a",
        )
        self.effects = EffectTable(self.idempotency)
        self.open_source = source_of(self.s3)
        store = build_store(self.idempotency, settings, self.clock)
        settlement = Settlement(
            rows=self.table,
            store=store,
            queues=self.queues,
            delays=Delays(1.0, 2.0, random.Random(7)),
            max_receives=MAX_RECEIVES,
            max_paid_attempts=1,
            clock=self.clock,
        )
        self.worker = Worker(
            uploads=self.table,
            reception=Reception(uploads=self.table, settlement=settlement, queues=self.queues, max_hops=4),
            settlement=settlement,
            guarded=guard(store, self._ask, model_deadline_s=20.0, clock=self.clock),
        )
        self.retry = Retry(
            table=self.table,
            effects=self.effects,
            resolver=Resolver(self.effects, retention_days=400, clock=self.clock),
            open_source=self.open_source,
            max_paid_attempts=1,
            clock=self.clock,
        ).retry

        queue = self.session.client("sqs").create_queue(QueueName="classify")["QueueUrl"]
        self._finish_settings = FinishSettings(
            uploads_bucket=BUCKET,
            prospects_table="prospects",
            idempotency_table="idempotency",
            event_bus_arn=BUS,
            alerts_topic_arn=TOPIC,
            intake_function_name="intake",
            classify_queue_url=queue,
        )
        self._clients = Clients(
            prospects=self.prospects,
            idempotency=self.idempotency,
            s3=self.s3,
            sns=self.session.client("sns"),
            sqs=self.session.client("sqs"),
            lambda_=IntakeInvoked(self),  # type: ignore[arg-type]
            events=self.bus,
        )

    def clock(self) -> float:
        return self.now

    def _ask(self, request: Mapping[str, Any], before_send: Callable[[], bool]) -> Answer | NoAnswer:
        assert before_send()
        text = request["messages"][0]["content"]
        self.asked.append(text.partition('"email":"')[2].partition("@")[0])
        reply = self.reply(request)
        self.billed += verdict_of(reply).kind in {"read", "unknown"}
        return reply

    # --- what happens ----------------------------------------------------------------------------------------------

    def classify(self) -> list[Result]:
        """Deliver what is on the bus, and again what was not acknowledged, until the queue is empty."""
        for name, detail in self.bus.details.items():
            if name not in self._taken and detail["type"] == "prospect.submitted":
                self._taken.add(name)
                self._waiting.append((json.dumps({"detail-type": "prospect.submitted", "detail": detail}), 1))
        everything: list[Result] = []
        while self._waiting:
            batch, self._waiting = self._waiting[:10], self._waiting[10:]
            messages = [Message(str(n), str(n), body, receives) for n, (body, receives) in enumerate(batch)]
            results = self.worker.handle(messages, self.now + 60)
            everything += results
            again = {result.message_id for result in results if not result.acknowledged}
            self._waiting += [(m.body, m.receives + 1) for m in messages if m.message_id in again and m.receives < 2]
        return everything

    def publish(self) -> None:
        while self.tick():
            self.now += 902

    def ticks(self, times: int = 1) -> None:
        """Whole ticks a minute apart, with what they ask of intake, and what classify makes of it."""
        for _ in range(times):
            build_tick(
                self._finish_settings,
                self._clients,
                deadline=self.now + 60,
                clock=self.clock,
                publisher=Publisher(self.bus, BUS, sleep=lambda _: None),
            ).run()
            self.classify()
            self.now += 60

    def finish(self, upload_id: str) -> Upload:
        """What the tick does when every row has ended."""
        upload = self.upload(upload_id)
        assert self.table.count_rows(upload_id) == upload.counts.valid
        tally = Tally(upload)
        for _ in tally.of(read_rows(upload, self.open_source, self.table)):
            continue
        ended = Finished(rows=tally.row_counts(), results_key="k", finished_at=int(self.now))
        told = Announcement(kind="finished", serial=f"finished-{upload.revision + 1}")
        assert self.table.finish(upload, ended, told)
        self.table.announced(upload_id, told)
        return self.upload(upload_id)

    def done(self, body: bytes) -> Upload:
        """An upload that ran to its end."""
        upload = self.submit(body)
        self.classify()
        return self.finish(upload.upload_id)

    # --- what came of it -------------------------------------------------------------------------------------------

    def effect_id(self, upload: Upload, row: int) -> str:
        """The record of a row of `intake_world.csv`."""
        task = Task.from_json(upload.task)
        fields = {"email": f"p{row}@example.com", "name": f"Person {row}", "company": f"Firm {row}"}
        return record_id(task.name, task.key(fields))

    def record(self, upload: Upload, row: int) -> EffectRecord:
        found = self.effects.read(self.effect_id(upload, row))
        assert found is not None
        return found


def order(w: Service) -> Resolve:
    """The operator's order about what is unknown, as a new command."""
    return Resolve(
        plans=ResolvePlans(table=w.table, effects=w.effects, open_source=w.open_source, max_paid_attempts=1),
        table=w.table,
        sweeps=SweepsTable(w.prospects, clock=w.clock),
        effects=w.effects,
        resolver=Resolver(w.effects, retention_days=400, clock=w.clock),
        clock=w.clock,
    )


def by_person(replies: Mapping[str, Answer | NoAnswer], otherwise: Answer | None = None) -> Reply:
    """Answers by the person's number in `intake_world.csv`."""

    def reply(request: Mapping[str, Any]) -> Answer | NoAnswer:
        text = request["messages"][0]["content"]
        return next((r for number, r in replies.items() if f'Person {number}"' in text), otherwise or said())

    return reply


OVERLOADED = refused(529)
WRONG_KEY = refused(401)


@contextmanager
def service() -> Iterator[Service]:
    with mock_aws():
        yield Service()
