"""The callers of the experiment: each hands requests to a deployed tool by a way that runs a failed call again."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
from mcp import Client, MCPError

from bench.refund_experiment.injections import BATCH, CALLS, QUEUES, Way
from bench.refund_experiment.requests import Asked
from bench.refund_experiment.timers import Timers
from cli.cloud import Cloud
from cli.refund_mcp import deployed_tool, refund_server
from functions.refunds.adapters.tool import NAME

_TOOL = "ToolFunctionName"
_LOOK_S = 0.5


class Callers:
    """`at_once`: how many of those that wait for an answer call at a time, so that none waits for a free handler."""

    def __init__(self, cloud: Cloud, timers: Timers, at_once: int) -> None:
        self._cloud = cloud
        self._timers = timers
        self._at_once = at_once

    def call(self, way: Way, actions: Sequence[Asked]) -> Mapping[str, int]:
        """How many calls were made of each request, where the caller made them; the others are made by a service."""
        match way:
            case "asynchronous":
                return self._each(actions, self._asynchronously)
            case "workflow":
                return self._each(actions, self._by_workflow)
            case "mcp":
                return self._each(actions, self._by_mcp)
            case _:
                return self._by_queue(way, actions)

    def once(self, way: Way, event: Mapping[str, Any]) -> None:
        """One call of the function that `way` leads to, and no further one; what it ended in is in its item.

        The decorator's records belong to one function: the same key by another is a new one to it.
        """
        batch = way in QUEUES
        self._cloud.client("lambda").invoke(
            FunctionName=self._cloud.outputs[f"{way.title()}FunctionName" if batch else _TOOL],
            Payload=json.dumps(_as_batch(event) if batch else event).encode(),
        )

    def _each(self, actions: Sequence[Asked], call: Callable[[Asked], int]) -> Mapping[str, int]:
        with ThreadPoolExecutor(self._at_once) as pool:
            made = list(pool.map(call, actions))
        return {asked.request_id: calls for asked, calls in zip(actions, made, strict=True)}

    def _asynchronously(self, asked: Asked) -> int:
        self._cloud.client("lambda").invoke(
            FunctionName=self._cloud.outputs[_TOOL],
            InvocationType="Event",
            Payload=json.dumps(asked.event).encode(),
        )
        return 0

    def _by_workflow(self, asked: Asked) -> int:
        """One execution to its end; its history tells how often the task was tried."""
        states = self._cloud.client("stepfunctions")
        execution = states.start_execution(
            stateMachineArn=self._cloud.outputs["StateMachineArn"],
            name=asked.request_id,
            input=json.dumps(asked.event),
        )["executionArn"]
        while states.describe_execution(executionArn=execution)["status"] == "RUNNING":
            time.sleep(_LOOK_S)
        events = states.get_execution_history(executionArn=execution, maxResults=100)["events"]
        return sum(event["type"] in {"TaskScheduled", "LambdaFunctionScheduled"} for event in events)

    def _by_mcp(self, asked: Asked) -> int:
        """A host that calls at once again when its client gave up or was told of an error."""
        server = refund_server(deployed_tool(self._cloud, _TOOL))

        async def run() -> int:
            async with Client(server) as client:
                for made in range(1, CALLS + 1):
                    try:
                        await client.call_tool(NAME, asked.event, read_timeout_seconds=self._timers.waits_s)
                    except MCPError:
                        continue
                    return made
            return CALLS

        return anyio.run(run)

    def _by_queue(self, way: str, actions: Sequence[Asked]) -> Mapping[str, int]:
        url = self._cloud.outputs[f"{way.title()}QueueUrl"]
        for first in range(0, len(actions), BATCH):
            entries = [
                {"Id": f"m{place}", "MessageBody": json.dumps(asked.event)}
                for place, asked in enumerate(actions[first : first + BATCH])
            ]
            sent = self._cloud.client("sqs").send_message_batch(QueueUrl=url, Entries=entries)
            if sent.get("Failed"):
                raise OSError(f"SQS did not take {len(sent['Failed'])} of {len(entries)} messages")
        return {}


def _as_batch(event: Mapping[str, Any]) -> Mapping[str, Any]:
    record = {"messageId": "m0", "receiptHandle": "none", "eventSource": "aws:sqs", "body": json.dumps(event)}
    return {"Records": [record]}
