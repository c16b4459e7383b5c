"""Handing a batch to a subscriber's target: a Lambda function or an SQS queue."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from local.bus.failures import DeliveryError
from local.bus.model import StoredEvent, Subscriber
from local.bus.payloads import element, lambda_payload
from local.repairs.asynchronous import Asynchronous
from local.repairs.invocations import Answer, FunctionMissingError, Invocations
from local.repairs.permissions import Permissions
from local.repairs.queues import QueueError, Queues

_TIMEOUT_S = 30.0
_SQS_PARAMETERS = {"MessageGroupId", "MessageDeduplicationId", "DelaySeconds"}


class Targets:
    """Delivers batches. `deliver` returns when the target took the batch, and raises `DeliveryError` otherwise."""

    def __init__(
        self, invocations: Invocations, asynchronous: Asynchronous, queues: Queues, permissions: Permissions
    ) -> None:
        self._invocations = invocations
        self._asynchronous = asynchronous
        self._queues = queues
        self._permissions = permissions

    def deliver(self, subscriber: Subscriber, batch: Sequence[StoredEvent]) -> None:
        if ":lambda:" in subscriber.target_arn:
            self._permit(subscriber, "lambda:InvokeFunction", subscriber.target_arn)
            self._invoke(subscriber, batch)
        else:
            self._permit(subscriber, "sqs:SendMessage", subscriber.target_arn)
            self._send(subscriber, batch)

    def record(self, subscriber: Subscriber, body: str, attributes: Mapping[str, str]) -> None:
        """Put a failure record on the on-failure queue, as the delivery role. Raises `DeliveryError`."""
        self._permit(subscriber, "sqs:SendMessage", subscriber.on_failure_arn)
        try:
            self._queues.send(subscriber.on_failure_arn, body, attributes)
        except QueueError as error:
            raise DeliveryError(error.code, str(error)) from error

    def _permit(self, subscriber: Subscriber, action: str, resource_arn: str) -> None:
        if not self._permissions.role_may(subscriber.role_arn, action, resource_arn):
            raise DeliveryError("ACCESS_DENIED", f"The delivery role has no permission for {action}.")

    def _send(self, subscriber: Subscriber, batch: Sequence[StoredEvent]) -> None:
        parameters = _sqs_parameters(subscriber)
        failed: list[StoredEvent] = []
        last: QueueError | None = None
        for event in batch:
            try:
                self._queues.send(subscriber.target_arn, json.dumps(element(subscriber, event)), **parameters)
            except QueueError as error:
                failed.append(event)
                last = error
        if last is not None:
            raise DeliveryError(last.code, str(last), failed)

    def _invoke(self, subscriber: Subscriber, batch: Sequence[StoredEvent]) -> None:
        record = self._invocations.record(subscriber.target_arn)
        if record is None:
            raise DeliveryError("RESOURCE_NOT_FOUND", "The function does not exist.")
        payload = lambda_payload(subscriber, batch)
        parameters = subscriber.config["InvokeConfiguration"].get("LambdaParameters") or {}
        if parameters.get("InvocationType") == "EVENT":
            self._asynchronous.accept(record, payload)
            return
        answer = self._within(float(parameters.get("InvocationTimeoutSeconds", _TIMEOUT_S)), subscriber, payload)
        if answer.throttled:
            raise DeliveryError("THROTTLING", "The function is at its concurrency.")
        if answer.error_type:
            raise DeliveryError("COMPUTE_EXECUTION_ERROR", f"The function failed ({answer.error_type}).")
        _check_partial(answer.body, batch)

    def _within(self, timeout_s: float, subscriber: Subscriber, payload: Any) -> Answer:
        """The bus stops waiting at its timeout; the handler runs on, as it does on AWS."""
        answers: list[Answer] = []

        def run() -> None:
            try:
                answers.append(self._invocations.run(subscriber.target_arn, payload))
            except FunctionMissingError:
                answers.append(Answer(None, error_type="ResourceNotFound"))

        waiting = threading.Thread(target=run, daemon=True)
        waiting.start()
        waiting.join(timeout_s)
        if not answers:
            raise DeliveryError("EXECUTION_TIMEOUT", f"The function did not answer within {timeout_s:g} s.")
        return answers[0]


def _sqs_parameters(subscriber: Subscriber) -> dict[str, Any]:
    parameters = subscriber.config["InvokeConfiguration"].get("SqsParameters") or {}
    return {name: int(value) if name == "DelaySeconds" else value for name, value in parameters.items()}


def unsupported_parameters(config: Mapping[str, Any]) -> set[str]:
    """Names of SqsParameters that the local bus does not pass on."""
    return set(config["InvokeConfiguration"].get("SqsParameters") or {}) - _SQS_PARAMETERS


def _check_partial(body: Any, batch: Sequence[StoredEvent]) -> None:
    reported = body.get("batchItemFailures") if isinstance(body, dict) else None
    if not reported:
        return
    ids = {item.get("itemIdentifier") for item in reported if isinstance(item, dict)}
    failed = [event for event in batch if event.event_id in ids]
    raise DeliveryError("PARTIAL_BATCH_FAILURE", f"The function failed {len(failed)} events.", failed or None)
