"""What the commands need of a cloud, be it the local one or a deployed one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Cloud(Protocol):
    """The deployed stacks: boto3 clients for them, and their outputs by name."""

    @property
    def outputs(self) -> Mapping[str, str]: ...

    @property
    def model_requests(self) -> int | None:
        """Requests the stand-in has read; None where something else answers."""

    def client(self, service: str) -> Any: ...

    def resource(self, service: str) -> Any: ...

    def dead_letters(self) -> Mapping[str, int]:
        """Messages in each dead-letter queue, by its name."""
