"""Everything that runs in the server process, put together once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from local.bus.delivery import Deliveries
from local.bus.filters import Filters
from local.bus.resources import EventBusResources
from local.bus.service import EventBusService
from local.bus.targets import Targets
from local.bus.wire import Wire
from local.claude.http import ClaudeServer
from local.claude.script import parse_script
from local.claude.standin import StandIn
from local.emulator import Emulator, load_emulator
from local.faults.gateway import FaultyGateway
from local.faults.injected import Injected
from local.faults.plan import carry
from local.faults.rules import FaultRules, parse_rules
from local.gateway import Gateway
from local.metrics import Metrics, Sink
from local.outbox import Outbox
from local.payments.http import PaymentsServer
from local.payments.standin import payments_standin
from local.repairs.alarms import Alarms
from local.repairs.asynchronous import Asynchronous
from local.repairs.executions import Executions
from local.repairs.gate import Gate
from local.repairs.invocations import Invocations
from local.repairs.item_conditions import ItemConditions
from local.repairs.measuring import Measuring
from local.repairs.minutes import Minutes
from local.repairs.permissions import Permissions
from local.repairs.queues import Queues
from local.repairs.rules import Rules
from local.settings import ACCOUNT, REGION, ServerSettings

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Cloud:
    """The ASGI application, the stand-ins beside it, and the handlers' processes."""

    app: Gateway | FaultyGateway
    claude: ClaudeServer
    payments: PaymentsServer
    emulator: Emulator

    def end_handlers(self) -> None:
        self.emulator.runtime.reset()


def assemble(settings: ServerSettings, loop: asyncio.AbstractEventLoop) -> Cloud:
    """Load the emulator, put right what it does otherwise than AWS, and add what it lacks. Runs on `loop`'s thread."""
    standin = StandIn(parse_script(settings.claude_script))
    payments = payments_standin(settings.payments_script)
    emulator = load_emulator()
    metrics = Metrics(_sink(emulator))
    permissions, queues = Permissions(emulator), Queues(emulator, loop)
    invocations = Invocations(emulator, Gate(settings.handlers))
    asynchronous = Asynchronous(
        emulator,
        invocations,
        queues=queues,
        permissions=permissions,
        metrics=metrics,
        handlers=settings.handlers,
        retry_s=settings.async_retry_s,
    )
    rules = Rules(
        emulator,
        invocations,
        asynchronous,
        queues=queues,
        permissions=permissions,
        metrics=metrics,
        tick_s=settings.tick_s,
    )
    deliveries = Deliveries(
        Targets(invocations, asynchronous, queues, permissions),
        metrics,
        threads=settings.delivery_threads,
        backoff_s=settings.bus_backoff_s,
    )
    bus = EventBusService(Filters(emulator), deliveries, metrics)
    outbox = Outbox(emulator)
    alarms = Alarms(emulator, minute_s=settings.minute_s)
    measuring = Measuring(emulator, metrics, alarms)
    minutes = Minutes(loop, settings.minute_s, (measuring.sample_queues, alarms.evaluate))
    resources = EventBusResources(emulator, bus)
    conditions, executions = ItemConditions(emulator), Executions(emulator, metrics)
    repairs = (measuring, queues, invocations, asynchronous, rules, resources, outbox, alarms, minutes, conditions)
    for repair in (*repairs, executions):
        repair.install()
    faults = FaultRules(parse_rules(settings.service_faults))
    app = Gateway(
        emulator.app.app,
        Wire(bus, permissions),
        invocations,
        metrics,
        standin,
        payments=payments,
        outbox=outbox,
        injected=_injected(settings, emulator, standin, faults),
        token=settings.token,
    )
    faulty = FaultyGateway(app, faults, permissions.function_of) if settings.service_faults else app
    return Cloud(faulty, ClaudeServer(standin), PaymentsServer(payments), emulator)


def _injected(settings: ServerSettings, emulator: Emulator, standin: StandIn, faults: FaultRules) -> Injected:
    """Arms the handlers, where they are to be."""
    plan = settings.handler_faults
    if plan is None:
        return Injected(standin.used, faults.counts)
    return Injected(standin.used, faults.counts, plan.faults, carry(plan, emulator))


def _sink(emulator: Emulator) -> Sink:
    """Metrics also reach the emulator's CloudWatch, where the deployed alarms look."""

    def record(namespace: str, name: str, value: float, dimensions: Mapping[str, str]) -> None:
        with emulator.responses.request_scope(ACCOUNT, REGION):
            emulator.cloudwatch.record_metric(namespace, name, value, "Count", dict(dimensions))

    return record
