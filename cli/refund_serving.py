"""`prospects refund start`, `serve` and `tool`: refunds through the workflow, and the tool for the hosts of agents."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from cli.errors import CommandError
from cli.refunding import NOT_DEPLOYED, Refunds
from cli.sentences import sentences
from cli.target import Aws, Local, Name, Region, Target, find_target
from functions.refunds.adapters.tool import DESCRIPTION, INPUT_SCHEMA, NAME
from functions.refunds.adapters.workflow import start as start_workflow
from functions.refunds.errors import DeniedError
from functions.refunds.request import RefundRequest

TOOL_FUNCTION = "RefundToolFunctionName"
STATE_MACHINE = "RefundStateMachineArn"


def start(
    request_id: Annotated[str, typer.Argument(metavar="REQUEST_ID", help="The one that the approval printed.")],
    *,
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Start the workflow of an approved refund; a repeat starts nothing again."""
    with sentences():
        target = find_target(name, region, local=local, aws=aws)
        if STATE_MACHINE not in target.cloud.outputs:
            raise CommandError(NOT_DEPLOYED)
        request = _approved(target, request_id)
        started = start_workflow(target.cloud.client("stepfunctions"), target.cloud.outputs[STATE_MACHINE], request)
    print(f"{'Started' if started == 'started' else 'Started before'}: prospects refund status {request_id}")


def serve(
    *,
    http: Annotated[bool, typer.Option("--http", help="Streamable HTTP on 127.0.0.1 instead of stdio.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="With --http; 0 takes any that is free.")] = 0,
    only: Annotated[
        str, typer.Option("--only", metavar="REQUEST_ID", help="Serve this approved action, whatever a model writes.")
    ] = "",
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Serve the refund tool over MCP, until the host ends it; it calls the deployed function."""
    # Most of a second to import, for this command alone.
    from cli.refund_mcp import deployed_tool, refund_server, serve_http, serve_stdio  # noqa: PLC0415

    with sentences():
        if port and not http:
            raise CommandError("--port is of --http; give both, or neither.")
        target = find_target(name, region, local=local, aws=aws)
        if TOOL_FUNCTION not in target.cloud.outputs:
            raise CommandError(NOT_DEPLOYED)
        approved = _approved(target, only) if only else None
        server = refund_server(deployed_tool(target.cloud, TOOL_FUNCTION), approved)
        if not http:
            serve_stdio(server)
            return
        try:
            serve_http(server, port, lambda address: print(f"endpoint {address}", flush=True))
        except OSError as error:
            raise CommandError(f"Port {port} of 127.0.0.1 cannot be used ({error.strerror}); choose another.") from None


def _approved(target: Target, request_id: str) -> RefundRequest:
    """Raises DeniedError: what was denied is told here, before anything is started for it."""
    action = Refunds(target).status(request_id).action
    if action.decision == "DENY":
        raise DeniedError(request_id)
    return action.request


def tool() -> None:
    """Print the tool's definition, as an AgentCore gateway takes it for a Lambda target."""
    print(json.dumps([{"name": NAME, "description": DESCRIPTION, "inputSchema": INPUT_SCHEMA}], indent=2))
