"""What AWS measures of the executions of state machines. MiniStack measures nothing of them."""

from __future__ import annotations

from typing import Any

from local.emulator import Emulator
from local.metrics import Metrics


class Executions:
    """Counts the executions that failed, by their state machine."""

    def __init__(self, emulator: Emulator, metrics: Metrics) -> None:
        self._emulator = emulator
        self._metrics = metrics

    def install(self) -> None:
        machines = self._emulator.machines
        fail = machines._fail_execution

        def failed(execution: Any, error: str, cause: str) -> None:
            fail(execution, error, cause)
            self._metrics.count("AWS/States", "ExecutionsFailed", {"StateMachineArn": execution["stateMachineArn"]})

        machines._fail_execution = failed
