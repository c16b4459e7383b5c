"""Alarms over metric math or a Metrics Insights query: the emulator refuses them, and with them the whole stack.

Here they are taken and never go off; what was deployed is described afterwards, so their silence is reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from local.emulator import Emulator

_TYPE = "AWS::CloudWatch::Alarm"


class Alarms:
    """Wraps the emulator's CloudFormation type."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator

    def install(self) -> None:
        handlers = self._emulator.provisioners._RESOURCE_HANDLERS
        given = handlers[_TYPE]
        create, delete = given["create"], given["delete"]

        def create_alarm(logical_id: str, properties: Mapping[str, Any], stack: str) -> Any:
            if properties.get("Metrics"):
                return self._silent(str(properties.get("AlarmName") or f"{stack}-{logical_id}"))
            return create(logical_id, properties, stack)

        def delete_alarm(physical_id: str, properties: Mapping[str, Any]) -> None:
            if not properties.get("Metrics"):
                delete(physical_id, properties)

        handlers[_TYPE] = {**given, "create": create_alarm, "delete": delete_alarm}

    def _silent(self, name: str) -> tuple[str, dict[str, str]]:
        responses = self._emulator.responses
        arn = f"arn:aws:cloudwatch:{responses.get_region()}:{responses.get_account_id()}:alarm:{name}"
        return name, {"Arn": arn}
