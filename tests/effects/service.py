"""The whole service under the platform's rules: what is delivered when, and what a death or an error leads to."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from functions.classify.row_event import Message
from functions.crash_points import Killed
from functions.operate.errors import OperateError
from functions.uploads.table import UploadsTable
from tests.effects.account import Account, made
from tests.effects.people import Model, Roads
from tests.effects.stand_ins import Bus, Clock, Invocations, Queues, Topic, Waiting
from tests.effects.workers import FINISH_S, INTAKE_S, QUICK, Between, Workers

START = 1_800_000_000
VISIBILITY_S, TICK_S = 360.0, 60.0
MOST_STEPS = 400
Function = Literal["intake", "classify", "finish", "operator"]
Order = Callable[["Service"], object]
LEASE_S: dict[Function, float] = {
    "intake": INTAKE_S + 2,
    # A message in flight comes again only after its visibility timeout, which is longer than any lease.
    "classify": VISIBILITY_S + 1,
    "finish": FINISH_S + 1,
    "operator": FINISH_S + 1,
}
"""After how long the owner of a delivery is taken for dead."""


@dataclass
class Delivery:
    """One invocation of a function, and what it is given."""

    function: Function
    given: Any


class Service:
    """One account. `run` lets everything happen until nothing is left to do.

    `orders` are given by an operator, each when all before it is over. `settings`: see Workers.
    """

    def __init__(self, roads: Roads, *, orders: Sequence[Order] = (), **settings: Any) -> None:
        clock = Clock(START)
        queues = Queues(clock, visibility_s=VISIBILITY_S, max_receives=(QUICK | settings)["max_receives"])
        model = Model(roads)
        self.between = Between(clock, queues, Bus(clock, queues), Topic(), Invocations(clock), model, float(START))
        self.account = Account()
        self.workers = Workers(self.account, made("resource", "dynamodb"), settings)
        self.orders = orders
        self.versions: list[tuple[str, str]] = []
        self.invoke: Callable[[Delivery], None] = self.handle
        """How a delivery is made; a schedule takes its place."""

    @property
    def clock(self) -> Clock:
        return self.between.clock

    @property
    def uploads(self) -> UploadsTable:
        return self.workers.uploads(self.between)

    # --- what happens ----------------------------------------------------------------------------------------------

    def upload(self, content: bytes, key: str, *, told: int = 1, named: bool = True) -> None:
        """Put an object; its event is on its way, `told` times. Not `named`: it leaves the version out."""
        version = self.account.put_object(key, content, self.clock())
        self.versions.append((key, version))
        for _ in range(told):
            found = {"key": key, "size": len(content)} | ({"version-id": version} if named else {})
            detail = {"bucket": {"name": self.account.bucket}, "object": found}
            event = {"source": "aws.s3", "detail-type": "Object Created", "detail": detail}
            self.between.invocations.waiting.append(Waiting(event, self.clock()))

    def run(self) -> None:
        """Deliveries and the time between them, until all is over."""
        for _ in range(MOST_STEPS):
            if not (self.deliver_due() or self._order() or self._pass_time()):
                return
        raise AssertionError("it does not come to an end")

    def deliver_due(self) -> bool:
        """Make the next delivery that is due now. False: there is none."""
        between, delivery = self.between, None
        if waiting := between.invocations.take():
            delivery = Delivery("intake", waiting)
        elif held := between.queues.receive():
            message = Message(held.message_id, f"{held.message_id}/{held.receives}", held.body, held.receives)
            delivery = Delivery("classify", message)
        elif between.tick_at <= self.clock():
            between.tick_at = self.clock() + TICK_S
            delivery = Delivery("finish", None)
        if delivery is None:
            return False
        between.idle_ticks = between.idle_ticks + 1 if delivery.function == "finish" else 0
        self.deliver(delivery)
        return True

    def handle(self, delivery: Delivery) -> None:
        """What the function does, to its end."""
        match delivery.function:
            case "intake":
                self.workers.intake(self.between, delivery.given.event)
            case "classify":
                result = self.workers.classify(self.between, delivery.given)
                if result.error:
                    self.between.broken.append(f"classify: {result.error}")
                if result.acknowledged:
                    self.between.queues.delete(delivery.given.message_id)
            case "finish":
                self.workers.finish(self.between)
            case "operator":
                try:
                    delivery.given(self)
                except OperateError:
                    # Somebody was faster: the order is carried out.
                    return

    def take_for_dead(self, delivery: Delivery) -> None:
        """The owner of a delivery is late: it is delivered again, and so is everything else that is due by then."""
        self.clock.now += LEASE_S[delivery.function]
        if delivery.function == "operator":
            self.handle(delivery)
        elif delivery.function == "intake":
            self.between.invocations.waiting.append(Waiting(delivery.given.event, self.clock()))
        while self.deliver_due():
            pass

    def deliver(self, delivery: Delivery) -> None:
        """One invocation as the platform makes it, and what follows from how it ended."""
        try:
            self.invoke(delivery)
        except Killed:
            self._ended_in_nothing(delivery)
        except Exception as error:  # noqa: BLE001 - as Lambda takes whatever a function raises
            self.between.broken.append(f"{delivery.function}: {error!r}")
            self._ended_in_nothing(delivery)

    def _ended_in_nothing(self, delivery: Delivery) -> None:
        # A message comes again by its visibility timeout, and ticks come anyway.
        if delivery.function == "intake":
            self.between.invocations.broke(delivery.given)
        elif delivery.function == "operator":
            self.between.orders_given -= 1

    def _order(self) -> bool:
        """The operator's next order, once everything else is over."""
        if not self._over() or self.between.orders_given == len(self.orders):
            return False
        order = self.orders[self.between.orders_given]
        self.between.orders_given += 1
        self.between.idle_ticks = 0
        self.deliver(Delivery("operator", order))
        return True

    def _pass_time(self) -> bool:
        between = self.between
        if self._over():
            return False
        times = (between.tick_at, between.queues.next_at, between.invocations.next_at)
        self.clock.now = max(self.clock(), min(each for each in times if each is not None))
        return True

    def _over(self) -> bool:
        """Nothing is on its way, a whole tick found nothing to do, and what is open waits for an operator."""
        between = self.between
        if between.invocations.waiting or between.queues.held or not between.idle_ticks:
            return False
        objects = self.uploads.get_objects(self.versions)
        if not all(version in objects and objects[version].settled for version in self.versions):
            return False
        return not any(seen.announcement or self._moves(seen.upload_id) for seen in self.uploads.open_uploads())

    def _moves(self, upload_id: str) -> bool:
        upload = self.uploads.get_upload(upload_id)
        return upload is None or upload.state not in ("paused", "needs_approval")

    # --- copies ----------------------------------------------------------------------------------------------------

    def state(self) -> Any:
        """A copy of everything there is between two deliveries."""
        return copy.deepcopy(self.between), self.account.state()

    def go_back(self, state: Any) -> None:
        """Be as in the copy again, which stays as it is."""
        between, account = state
        self.between = copy.deepcopy(between)
        self.account.go_back(account)
