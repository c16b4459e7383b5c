"""The operations of the Custom Event Bus, over buses and subscribers in memory."""

from __future__ import annotations

import hashlib
import json
import random
import string
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from local.bus.delivery import NAMESPACE, Deliveries
from local.bus.filters import Filters
from local.bus.model import Bus, BusError, Subscriber
from local.bus.payloads import store
from local.bus.subscribers import check_subscriber
from local.bus.validation import check_request, fault_of
from local.bus.window import DeduplicationWindow
from local.metrics import Metrics

_ID_LENGTH = 25


class EventBusService:
    """Called on one thread (the server's event loop), so its state needs no lock. Raises `BusError`."""

    def __init__(
        self, filters: Filters, deliveries: Deliveries, metrics: Metrics, clock: Callable[[], float] = time.time
    ) -> None:
        self._filters = filters
        self._deliveries = deliveries
        self._metrics = metrics
        self._clock = clock
        self._window = DeduplicationWindow(clock)
        self._buses: dict[str, Bus] = {}
        self._subscribers: dict[str, Subscriber] = {}

    # Buses

    def create_bus(self, account: str, region: str, request: Mapping[str, Any]) -> Bus:
        name = str(request.get("Name") or "")
        if not name:
            raise BusError("InvalidInputException", "Name is missing.")
        if any(bus.name == name and bus.account == account and bus.region == region for bus in self._buses.values()):
            raise BusError("ResourceAlreadyExistsException", f"There is already a bus {name}.", 409)
        arn = f"arn:aws:events:{region}:{account}:event-busv2/{name}/{_new_id()}"
        bus = Bus(arn, name, self._now(), dict(request))
        self._buses[arn] = bus
        return bus

    def bus(self, arn: str) -> Bus:
        try:
            return self._buses[arn]
        except KeyError:
            raise BusError("ResourceNotFoundException", "There is no such event bus.", 404) from None

    def buses(self) -> list[Bus]:
        return list(self._buses.values())

    def delete_bus(self, arn: str) -> None:
        bus = self.bus(arn)
        if any(subscriber.bus is bus for subscriber in self._subscribers.values()):
            raise BusError("ResourceInUseException", "The bus still has subscribers.", 409)
        del self._buses[arn]

    # Subscribers

    def create_subscriber(self, request: Mapping[str, Any]) -> Subscriber:
        check_subscriber(request)
        bus, name = self.bus(request["EventBusArn"]), str(request["Name"])
        if any(found.bus is bus and found.name == name for found in self._subscribers.values()):
            raise BusError("ResourceAlreadyExistsException", f"The bus already has a subscriber {name}.", 409)
        arn = f"arn:aws:events:{bus.region}:{bus.account}:subscriber/{name}/{_new_id()}"
        subscriber = Subscriber(
            arn,
            name,
            bus,
            self._now(),
            dict(request),
            self._filters.checked(request),
        )
        self._subscribers[arn] = subscriber
        return subscriber

    def subscriber(self, arn: str) -> Subscriber:
        try:
            return self._subscribers[arn]
        except KeyError:
            raise BusError("ResourceNotFoundException", "There is no such subscriber.", 404) from None

    def subscribers(self) -> list[Subscriber]:
        return list(self._subscribers.values())

    def delete_subscriber(self, arn: str) -> None:
        self._deliveries.forget(self.subscriber(arn))
        del self._subscribers[arn]

    # Publishing

    def put_events(self, account: str, request: Mapping[str, Any], size_bytes: int) -> dict[str, Any]:
        """The answer of PutEvents. `size_bytes` is the size of the request's body."""
        bus = self.bus(str(request.get("EventBusArn")))
        check_request(request, size_bytes)
        content_based = bool(request.get("DeduplicationConfiguration"))
        entries = [self._put(account, bus, entry, content_based=content_based) for entry in request["Entries"]]
        failed = sum("ErrorCode" in entry for entry in entries)
        dimensions = {"EventBus": bus.arn}
        self._metrics.count(NAMESPACE, "PublishEventsApproximateCallCount", dimensions)
        self._metrics.count(NAMESPACE, "PublishEventsEntryCount", dimensions, len(entries))
        if failed:
            self._metrics.count(NAMESPACE, "PublishEventsFailedEntriesCount", dimensions, failed)
        return {"FailedEntryCount": failed, "Entries": entries}

    def _put(self, account: str, bus: Bus, entry: Mapping[str, Any], *, content_based: bool) -> dict[str, str]:
        fault = fault_of(entry)
        if fault:
            return {"ErrorCode": "VALIDATION_ERROR", "ErrorMessage": fault}
        system = entry.get("SystemMetadata") or {}
        scope = (account, bus.arn, str(system.get("EventGroupId", "")))
        deduplication_id = _content_id(entry) if content_based else system.get("DeduplicationId")
        repeated = self._window.repeats(scope, deduplication_id) if deduplication_id else None
        if repeated:
            return {"EventId": repeated[0], "SequenceNumber": repeated[1], "SuccessCode": "DEDUPLICATED"}
        bus.published += 1
        event_id, sequence_number = str(uuid.uuid4()), f"{bus.published:020d}"
        if deduplication_id:
            self._window.stored(scope, deduplication_id, event_id, sequence_number)
        self._route(bus, entry, event_id, sequence_number)
        return {"EventId": event_id, "SequenceNumber": sequence_number, "SuccessCode": "PUBLISHED"}

    def _route(self, bus: Bus, entry: Mapping[str, Any], event_id: str, sequence_number: str) -> None:
        event = store(bus, entry, event_id, sequence_number, self._clock())
        for subscriber in self._subscribers.values():
            if subscriber.bus is not bus:
                continue
            self._metrics.count(NAMESPACE, "FilterEvaluated", subscriber.dimensions)
            if self._filters.match(subscriber.filters, event):
                self._metrics.count(NAMESPACE, "FilterMatched", subscriber.dimensions)
                self._deliveries.accept(subscriber, event)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)


def _new_id() -> str:
    return "".join(random.choices(string.ascii_lowercase + string.digits, k=_ID_LENGTH))


def _content_id(entry: Mapping[str, Any]) -> str:
    content = [entry["Source"], entry["DetailType"], entry.get("Detail"), entry.get("Resources")]
    return "content:" + hashlib.sha256(json.dumps(content).encode()).hexdigest()
