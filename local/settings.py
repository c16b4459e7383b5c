"""What the server process is told: one JSON file in its folder, written by the side that starts it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from local.faults.plan import HandlerPlan

REGION = "us-east-1"
ACCOUNT = "000000000000"
SECRET = "local"  # noqa: S105 - the emulator asks for none
SETTINGS_FILE = "settings.json"
READY_FILE = "ready.json"
FAILED_FILE = "failed.txt"
LOG_FILE = "server.log"


class ServerSettings(BaseModel):
    """Seconds are wall-clock seconds; `minute_s` is how long a minute of metrics and alarms lasts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    token: str
    port: int = Field(0, ge=0, le=65535)
    handlers: int = Field(2, ge=1)
    delivery_threads: int = Field(4, ge=1)
    tick_s: float = Field(1.0, gt=0)
    minute_s: float = Field(2.0, gt=0)
    async_retry_s: float = Field(1.0, ge=0)
    bus_backoff_s: float = Field(0.2, ge=0)
    claude_script: list[Any] = []
    claude_url: str | None = None
    service_faults: list[Any] = []
    handler_faults: HandlerPlan | None = None


class Ready(BaseModel):
    """What the server says once it listens. `claude` is the stand-in's address; None when something else answers."""

    model_config = ConfigDict(frozen=True)

    pid: int
    token: str
    endpoint: str
    claude: str | None
