"""AWS::EventsV2::EventBus and AWS::EventsV2::Subscriber for the emulator's CloudFormation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from local.bus.model import BusError
from local.bus.service import EventBusService
from local.emulator import Emulator

_TIME = "%Y-%m-%dT%H:%M:%SZ"


class EventBusResources:
    """Creates and deletes the two types. `Ref` is the ARN; a refusal fails the resource with the service's sentence."""

    def __init__(self, emulator: Emulator, service: EventBusService) -> None:
        self._emulator = emulator
        self._service = service

    def install(self) -> None:
        handlers = self._emulator.provisioners._RESOURCE_HANDLERS
        handlers["AWS::EventsV2::EventBus"] = {"create": self.create_bus, "delete": self.delete_bus}
        handlers["AWS::EventsV2::Subscriber"] = {"create": self.create_subscriber, "delete": self.delete_subscriber}

    def create_bus(self, _logical_id: str, properties: Mapping[str, Any], _stack: str) -> tuple[str, dict[str, str]]:
        responses = self._emulator.responses
        bus = _or_value_error(
            lambda: self._service.create_bus(responses.get_account_id(), responses.get_region(), properties)
        )
        at = bus.created_at.strftime(_TIME)
        return bus.arn, {"EventBusArn": bus.arn, "State": "ACTIVE", "CreationTime": at, "LastModifiedTime": at}

    def create_subscriber(
        self, _logical_id: str, properties: Mapping[str, Any], _stack: str
    ) -> tuple[str, dict[str, str]]:
        request = {**properties, "Tags": {}}
        subscriber = _or_value_error(lambda: self._service.create_subscriber(_numbers(request)))
        at = subscriber.created_at.strftime(_TIME)
        attributes = {"SubscriberArn": subscriber.arn, "BusName": subscriber.bus.name}
        return subscriber.arn, {**attributes, "CreationTime": at, "LastModifiedTime": at}

    def delete_bus(self, arn: str, _properties: Mapping[str, Any]) -> None:
        _or_value_error(lambda: self._service.delete_bus(arn))

    def delete_subscriber(self, arn: str, _properties: Mapping[str, Any]) -> None:
        _or_value_error(lambda: self._service.delete_subscriber(arn))


def _or_value_error(call: Any) -> Any:
    """The emulator turns a ValueError into the resource's failure reason."""
    try:
        return call()
    except BusError as error:
        raise ValueError(f"{error.code}: {error}") from error


def _numbers(request: Mapping[str, Any]) -> dict[str, Any]:
    """Whole numbers of the numeric blocks, which a template may also carry as text."""
    numeric = ("BatchConfiguration", "RetryPolicy")
    blocks = {name: {k: _number(v) for k, v in request[name].items()} for name in numeric if request.get(name)}
    return {**request, **blocks}


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, str) and value.isdigit() else value
