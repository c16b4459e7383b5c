"""The deployment that is looked at: its clients, its outputs and how its functions are configured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cli.target import Target


class MissingOutputError(Exception):
    """The deployed stacks are older than this command."""


@dataclass
class Patient:
    """`spend`: one model request may be made. `read_only`: nothing may be put into the bucket."""

    target: Target
    spend: bool = False
    read_only: bool = False
    _environments: dict[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def local(self) -> bool:
        return self.target.local is not None

    def output(self, name: str) -> str:
        """Raises MissingOutputError."""
        found = self.target.cloud.outputs.get(name)
        if found is None:
            raise MissingOutputError(f"the stacks have no output {name}")
        return found

    def client(self, service: str) -> Any:
        return self.target.cloud.client(service)

    def environment(self, output: str) -> Mapping[str, str]:
        """The environment variables of the function that an output names."""
        if output not in self._environments:
            found = self.client("lambda").get_function_configuration(FunctionName=self.output(output))
            self._environments[output] = found.get("Environment", {}).get("Variables", {})
        return self._environments[output]
