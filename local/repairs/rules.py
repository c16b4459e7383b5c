"""Rules of the classic bus: Lambda targets with their DLQ, schedules at a local pace, the S3 version in the event.

MiniStack starts a rule's function once, without retries; it models neither a target's DLQ nor the function's resource
policy, fires schedules on a ten-second sweep, and leaves `version-id` out of S3's event.
"""

from __future__ import annotations

import contextvars
import itertools
import json
import logging
import re
import time
import uuid
from typing import Any

from local.emulator import Emulator
from local.metrics import Metrics
from local.repairs.asynchronous import Asynchronous
from local.repairs.invocations import Invocations
from local.repairs.permissions import Permissions
from local.repairs.queues import QueueError, Queues

logger = logging.getLogger(__name__)

_EVENTS = "events.amazonaws.com"
_RATE = re.compile(r"rate\((\d+) (minute|hour|day)s?\)")
_UNITS = {"minute": 1, "hour": 60, "day": 1440}
_origin: contextvars.ContextVar[str] = contextvars.ContextVar("rule", default="")
_version: contextvars.ContextVar[str | None] = contextvars.ContextVar("object_version", default=None)


class Rules:
    """Replaces how a rule reaches a Lambda target. `tick_s` stands for the minute of every schedule."""

    def __init__(
        self,
        emulator: Emulator,
        invocations: Invocations,
        asynchronous: Asynchronous,
        *,
        queues: Queues,
        permissions: Permissions,
        metrics: Metrics,
        tick_s: float,
    ) -> None:
        self._emulator = emulator
        self._invocations = invocations
        self._asynchronous = asynchronous
        self._queues = queues
        self._permissions = permissions
        self._metrics = metrics
        self._tick_s = tick_s

    def install(self) -> None:
        eventbridge, s3 = self._emulator.eventbridge, self._emulator.s3
        invoke, dispatch, fire = eventbridge._invoke_target, eventbridge._dispatch_event, s3._fire_s3_event

        def invoke_target(target: Any, event: Any, rule: Any, view: Any = None) -> None:
            if ":lambda:" in target.get("Arn", ""):
                self._to_function(invoke, target, event, rule, view)
            else:
                invoke(target, event, rule, view)

        def dispatch_event(event: Any, view: Any = None) -> None:
            version = _version.get()
            if event.get("Source") == "aws.s3" and version:
                detail = json.loads(event["Detail"])
                detail["object"]["version-id"] = version
                event, view = {**event, "Detail": json.dumps(detail)}, None
            dispatch(event, view)

        def fire_s3_event(*args: Any, **named: Any) -> None:
            token = _version.set(named.get("version_id"))
            try:
                fire(*args, **named)
            finally:
                _version.reset(token)

        eventbridge._invoke_target = invoke_target
        eventbridge._dispatch_to_lambda = self._accept
        eventbridge._dispatch_event = dispatch_event
        eventbridge._scheduler_loop = self._keep_time
        s3._fire_s3_event = fire_s3_event

    def _accept(self, function_arn: str, payload: str) -> None:
        self._asynchronous.accept(self._invocations.record(function_arn), json.loads(payload), _origin.get())

    def _to_function(self, invoke: Any, target: Any, event: Any, rule: Any, view: Any) -> None:
        fault = self._fault(target["Arn"], rule["Arn"])
        if fault is None:
            self._metrics.count("AWS/Events", "Invocations", {"RuleName": rule["Name"]})
            token = _origin.set(rule["Arn"])
            try:
                invoke(target, event, rule, view)
            finally:
                _origin.reset(token)
            return
        view = view or self._emulator.eventbridge._pattern_event_view(event)
        self._to_dlq(target, rule, json.dumps(view.event_with_detail()), *fault)

    def _fault(self, function_arn: str, rule_arn: str) -> tuple[str, str] | None:
        """Why EventBridge would not even try again: these two go to the DLQ at once."""
        if not self._invocations.exists(function_arn):
            return "NO_RESOURCE", "The function does not exist."
        policy = self._invocations.policy(function_arn)
        if not self._permissions.service_may(_EVENTS, "lambda:InvokeFunction", function_arn, policy, rule_arn):
            return "NO_PERMISSIONS", "The function's resource policy does not let this rule invoke it."
        return None

    def _to_dlq(self, target: Any, rule: Any, body: str, code: str, message: str) -> None:
        dimensions = {"RuleName": rule["Name"]}
        self._metrics.count("AWS/Events", "FailedInvocations", dimensions)
        queue_arn = (target.get("DeadLetterConfig") or {}).get("Arn", "")
        if not queue_arn:
            logger.error("rule %s: an event was dropped: %s", rule["Name"], message)
            return
        attributes = {
            "RULE_ARN": rule["Arn"],
            "TARGET_ARN": target["Arn"],
            "ERROR_CODE": code,
            "ERROR_MESSAGE": message,
            "RETRY_ATTEMPTS": "0",
        }
        try:
            policy = self._queues.policy(queue_arn)
            if not self._permissions.service_may(_EVENTS, "sqs:SendMessage", queue_arn, policy, rule["Arn"]):
                raise QueueError("ACCESS_DENIED", "The queue's policy does not let this rule send.")
            self._queues.send(queue_arn, body, attributes)
        except QueueError as error:
            self._metrics.count("AWS/Events", "InvocationsFailedToBeSentToDlq", dimensions)
            logger.error("rule %s: the event did not reach its DLQ: %s", rule["Name"], error)
            return
        self._metrics.count("AWS/Events", "InvocationsSentToDlq", dimensions)

    def _keep_time(self) -> None:
        for minute in itertools.count(1):
            time.sleep(self._tick_s)
            for (account, region, key), rule in list(self._emulator.eventbridge._rules._data.items()):
                period = _minutes(rule.get("ScheduleExpression") or "")
                if period and minute % period == 0 and rule.get("State") == "ENABLED":
                    with self._emulator.responses.request_scope(account, region):
                        self._tick(account, region, key, rule)

    def _count_left_out(self, key: str) -> None:
        """On AWS it would have run: who watches for a schedule that stopped must not take a long tick for one."""
        for target in self._emulator.eventbridge._targets.get(key, []):
            self._metrics.count("AWS/Lambda", "Invocations", {"FunctionName": target["Arn"].rpartition(":")[2]})

    def _tick(self, account: str, region: str, key: str, rule: Any) -> None:
        # A tick that would meet the one before it is left out: on AWS they are a minute apart and do not pile up.
        if self._asynchronous.busy(rule["Arn"]):
            self._count_left_out(key)
            return
        event = {
            "EventId": str(uuid.uuid4()),
            "Source": "aws.events",
            "DetailType": "Scheduled Event",
            "Detail": "{}",
            "EventBusName": rule.get("EventBusName", "default"),
            "Time": int(time.time()),
            "Resources": [rule["Arn"]],
            "Account": account,
            "Region": region,
        }
        for target in list(self._emulator.eventbridge._targets.get(key, [])):
            try:
                self._emulator.eventbridge._invoke_target(target, event, rule)
            except Exception:
                logger.exception("rule %s: the tick failed", rule["Name"])


def _minutes(schedule: str) -> int:
    """The period of a rate; any other schedule ticks every minute. 0: there is none."""
    rate = _RATE.fullmatch(schedule)
    return int(rate.group(1)) * _UNITS[rate.group(2)] if rate else int(bool(schedule))
