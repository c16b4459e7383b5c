"""Events as targets get them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from local.bus.model import Bus, StoredEvent, Subscriber


def store(bus: Bus, entry: Mapping[str, Any], event_id: str, sequence_number: str, now: float) -> StoredEvent:
    """The stored form of one valid PutEvents entry."""
    at = entry.get("Time") or datetime.fromtimestamp(now, UTC)
    envelope = {
        "version": "0",
        "id": event_id,
        "detail-type": entry["DetailType"],
        "source": entry["Source"],
        "account": bus.account,
        "time": at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": bus.region,
        "resources": list(entry.get("Resources") or []),
        "detail": json.loads(entry.get("Detail") or "{}"),
    }
    system = {
        "ContentType": "application/eventbridge+json",
        "aws:EventId": event_id,
        "aws:Source": entry["Source"],
        "aws:DetailType": entry["DetailType"],
        "aws:IngestionTime": datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds"),
        "aws:SequenceNumber": sequence_number,
        "aws:DeliveryType": "LIVE",
        **(entry.get("SystemMetadata") or {}),
    }
    return StoredEvent(event_id, now, envelope, system)


def element(subscriber: Subscriber, event: StoredEvent) -> Mapping[str, Any]:
    """One event after the subscriber's transformer (RAW, the default, or WITH_METADATA)."""
    if (subscriber.config.get("Transformer") or {}).get("Type", "RAW") == "WITH_METADATA":
        return {"Data": event.envelope, "Metadata": {}, "SystemMetadata": event.system}
    return event.envelope


def lambda_payload(subscriber: Subscriber, batch: Sequence[StoredEvent]) -> Any:
    """One object when MaxBatchSize is 1; otherwise an array, also of one event."""
    elements = [element(subscriber, event) for event in batch]
    return elements[0] if subscriber.single else elements
