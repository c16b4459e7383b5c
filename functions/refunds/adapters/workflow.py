"""Through a Step Functions Standard workflow: one approved action is one execution, whose name is its request_id.

Its payment task has no Retry: a workflow that retried it would be a second layer beside the caller. Starting it twice
starts it once, and what a later start finds is told apart: the same request, or another one under a used name.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Literal

from functions.refunds.errors import KeyReusedError
from functions.refunds.request import RefundRequest

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions.client import SFNClient

Started = Literal["started", "already_started"]


def start(client: SFNClient, state_machine_arn: str, request: RefundRequest) -> Started:
    """Start the execution of this action. Raises KeyReusedError where the name was used with another request.

    A name is free again 90 days after its execution ended; the record of the effect has no such end.
    """
    wanted = json.dumps(asdict(request), sort_keys=True)
    try:
        client.start_execution(stateMachineArn=state_machine_arn, name=request.request_id, input=wanted)
    except client.exceptions.ExecutionAlreadyExists:
        # Closed, or with another input; a running one with the same input is answered as if it had just been started.
        known = client.describe_execution(executionArn=execution_arn(state_machine_arn, request.request_id))
        if json.loads(known["input"]) != json.loads(wanted):
            raise KeyReusedError(request.request_id) from None
        return "already_started"
    return "started"


def execution_arn(state_machine_arn: str, request_id: str) -> str:
    """The ARN of a Standard execution by its name."""
    prefix, _, name = state_machine_arn.rpartition(":stateMachine:")
    return f"{prefix}:execution:{name}:{request_id}"
