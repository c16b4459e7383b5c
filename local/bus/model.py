"""Buses, subscribers and stored events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


class BusError(Exception):
    """A whole request is refused; `code` is a modelled exception of the service."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


@dataclass
class Bus:
    arn: str
    name: str
    created_at: datetime
    config: Mapping[str, Any]
    published: int = 0

    @property
    def account(self) -> str:
        return self.arn.split(":")[4]

    @property
    def region(self) -> str:
        return self.arn.split(":")[3]


@dataclass
class Subscriber:
    """`config` is the request that made it, with its documented defaults filled in where they are read."""

    arn: str
    name: str
    bus: Bus
    created_at: datetime
    config: Mapping[str, Any]
    filters: Mapping[str, str] = field(default_factory=dict)

    @property
    def target_arn(self) -> str:
        return str(self.config["InvokeConfiguration"]["TargetArn"])

    @property
    def role_arn(self) -> str:
        return str(self.config["InvokeConfiguration"]["RoleArn"])

    @property
    def batch_size(self) -> int:
        return int((self.config.get("BatchConfiguration") or {}).get("MaxBatchSize", 10))

    @property
    def single(self) -> bool:
        """Whether a Lambda target gets one object instead of an array: only when the batch size is set to one."""
        return (self.config.get("BatchConfiguration") or {}).get("MaxBatchSize") == 1

    @property
    def window_s(self) -> float:
        return float((self.config.get("BatchConfiguration") or {}).get("MaxBatchWindowInSeconds", 0))

    @property
    def max_retries(self) -> int:
        return int((self.config.get("RetryPolicy") or {}).get("MaxRetryAttempts", 5))

    @property
    def max_age_s(self) -> float:
        return float((self.config.get("RetryPolicy") or {}).get("MaxEventAgeInSeconds", 300))

    @property
    def on_failure_arn(self) -> str:
        return str((self.config.get("OnFailureConfiguration") or {}).get("Arn", ""))

    @property
    def dimensions(self) -> dict[str, str]:
        return {"EventBus": self.bus.arn, "Subscriber": self.arn}


@dataclass(frozen=True)
class StoredEvent:
    """`envelope` is what a classic target gets; `system` holds the fields that SYSTEM_METADATA filters read."""

    event_id: str
    stored_at: float
    envelope: Mapping[str, Any]
    system: Mapping[str, str]
