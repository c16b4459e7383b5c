"""The bus on the wire: smithy rpc-v2-cbor, `POST /service/AWSEventsV2/operation/<Operation>`."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Mapping
from typing import Any

import cbor2

from local.bus.model import Bus, BusError, Subscriber
from local.bus.service import EventBusService
from local.repairs.permissions import Permissions
from local.settings import ACCOUNT, REGION

logger = logging.getLogger(__name__)

PATH = re.compile(r"^/service/AWSEventsV2/operation/(\w+)$")
_CREDENTIAL = re.compile(r"Credential=([^/]+)/\d{8}/([^/]+)/")
_ACCOUNT = re.compile(r"\d{12}")


class Wire:
    """Turns one HTTP request into one call of the service, and its result or `BusError` into the answer."""

    def __init__(self, service: EventBusService, permissions: Permissions) -> None:
        self._service = service
        self._permissions = permissions

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and CBOR body for a request whose path matches `PATH`."""
        match = PATH.match(path)
        operation = match[1] if match else ""
        try:
            request = _decode(body)
            self._permit(operation, headers, request)
            status, result = 200, self._call(operation, _scope_of(headers), request, len(body))
        except BusError as error:
            status, result = (
                error.status,
                {"__type": f"com.amazonaws.eventbridgev2#{error.code}", "message": str(error)},
            )
        answer_headers = {
            "content-type": "application/cbor",
            "smithy-protocol": "rpc-v2-cbor",
            "x-amzn-requestid": str(uuid.uuid4()),
        }
        return status, answer_headers, cbor2.dumps(result, datetime_as_timestamp=True)

    def _permit(self, operation: str, headers: Mapping[str, str], request: Mapping[str, Any]) -> None:
        signed = _CREDENTIAL.search(headers.get("authorization", ""))
        role = self._permissions.role_of(signed[1]) if signed else None
        resource = str(request.get("EventBusArn") or request.get("SubscriberArn") or "arn:aws:events:::*")
        if role is not None and not self._permissions.role_may(role, f"events:{operation}", resource):
            raise BusError("AccessDeniedException", f"{role} is not authorized to perform events:{operation}.", 403)

    def _call(self, operation: str, scope: tuple[str, str], request: Mapping[str, Any], size: int) -> dict[str, Any]:
        service = self._service
        match operation:
            case "PutEvents":
                return service.put_events(scope[0], request, size)
            case "CreateEventBus":
                return _bus_answer(service.create_bus(*scope, request))
            case "DescribeEventBus":
                return _bus_answer(service.bus(request["EventBusArn"]))
            case "ListEventBuses":
                return {"EventBuses": [_bus_answer(bus) for bus in service.buses() if _prefixed(bus.name, request)]}
            case "DeleteEventBus":
                service.delete_bus(request["EventBusArn"])
                return {}
            case _:
                return self._call_subscriber(operation, request)

    def _call_subscriber(self, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        service = self._service
        match operation:
            case "CreateSubscriber":
                return _subscriber_answer(service.create_subscriber(request))
            case "DescribeSubscriber":
                return _subscriber_answer(service.subscriber(request["SubscriberArn"]))
            case "ListSubscribers":
                wanted = request.get("EventBusArn")
                found = [s for s in service.subscribers() if wanted in (None, s.bus.arn) and _prefixed(s.name, request)]
                return {"Subscribers": [_summary(subscriber) for subscriber in found]}
            case "DeleteSubscriber":
                service.delete_subscriber(request["SubscriberArn"])
                return {}
            case _:
                raise BusError("InvalidInputException", f"The local bus does not know the operation {operation}.")


def _decode(body: bytes) -> Mapping[str, Any]:
    try:
        request = cbor2.loads(body) if body else {}
    except (cbor2.CBORDecodeError, ValueError) as error:
        raise BusError("InvalidInputException", "The request is not CBOR.") from error
    if not isinstance(request, dict):
        raise BusError("InvalidInputException", "The request is not a structure.")
    return request


def _scope_of(headers: Mapping[str, str]) -> tuple[str, str]:
    """Publishing account and Region from the signature; an access key of twelve digits is the account."""
    match = _CREDENTIAL.search(headers.get("authorization", ""))
    if not match:
        return ACCOUNT, REGION
    return (match[1] if _ACCOUNT.fullmatch(match[1]) else ACCOUNT), match[2]


def _prefixed(name: str, request: Mapping[str, Any]) -> bool:
    return name.startswith(request.get("NamePrefix") or "")


def _bus_answer(bus: Bus) -> dict[str, Any]:
    echoed = {key: bus.config[key] for key in ("Description", "StorageConfiguration") if bus.config.get(key)}
    return {
        "EventBusArn": bus.arn,
        "Name": bus.name,
        "State": "ACTIVE",
        "CreationTime": bus.created_at,
        "LastModifiedTime": bus.created_at,
        **echoed,
    }


def _summary(subscriber: Subscriber) -> dict[str, Any]:
    return {
        "SubscriberArn": subscriber.arn,
        "Name": subscriber.name,
        "EventBusArn": subscriber.bus.arn,
        "TargetArn": subscriber.target_arn,
        "Type": "UNORDERED",
        "State": "RUNNING",
        "CreationTime": subscriber.created_at,
        "LastModifiedTime": subscriber.created_at,
        "SubscriberAccountId": subscriber.bus.account,
    }


def _subscriber_answer(subscriber: Subscriber) -> dict[str, Any]:
    own = _summary(subscriber)
    hidden = ("TargetArn", "SubscriberAccountId")
    asked = {key: value for key, value in subscriber.config.items() if key not in ("ClientToken", "Tags")}
    return {**asked, **{key: value for key, value in own.items() if key not in hidden}}
