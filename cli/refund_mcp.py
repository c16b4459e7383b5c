"""The refund tool for MCP hosts: one tool over stdio or streamable HTTP, which calls the deployed function.

A process beside an agent's host and not a Lambda function: there a gateway speaks MCP. Whoever runs it needs no more
than `lambda:InvokeFunction` on the tool.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import Callable, Mapping
from typing import Any

import anyio
from botocore.exceptions import BotoCoreError, ClientError
from hypercorn.asyncio import serve
from hypercorn.config import Config
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from cli.cloud import Cloud
from functions.refunds import errors
from functions.refunds.adapters.paying import refusal
from functions.refunds.adapters.tool import ANNOTATIONS, DESCRIPTION, INPUT_SCHEMA, NAME, TITLE, for_the_tool
from functions.refunds.errors import RefundError
from functions.refunds.request import RefundRequest

HOST = "127.0.0.1"
FAILED = "The refund tool failed, so it is not known what became of this refund; do not call again before it is."
NOT_REFUNDED = frozenset({"refused", "failed"})
"""Results that are errors to a model. An unknown one is none: an error invites a corrected call."""

Call = Callable[[Mapping[str, Any]], dict[str, Any]]
"""The tool's answer to these arguments, a refusal included."""

_CODES = {
    each.__name__: each.code
    for each in vars(errors).values()
    if isinstance(each, type) and issubclass(each, RefundError)
}


def deployed_tool(cloud: Cloud, output: str) -> Call:
    """Calls the function that this output names, with the caller's own credentials."""
    client, function = cloud.client("lambda"), cloud.outputs[output]

    def call(arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            answer = client.invoke(FunctionName=function, Payload=json.dumps(dict(arguments)).encode())
        except (BotoCoreError, ClientError):
            # Without its message, which repeats what was sent; whether it arrived is not known either.
            raise MCPError(types.INTERNAL_ERROR, FAILED) from None
        payload: Any = json.loads(answer["Payload"].read() or b"null")
        if "FunctionError" not in answer:
            return dict(payload)
        kind = str(payload.get("errorType", "")) if isinstance(payload, dict) else ""
        if kind not in _CODES:
            raise MCPError(types.INTERNAL_ERROR, FAILED)
        return refusal(_CODES[kind], str(payload["errorMessage"]))

    return call


def refund_server(call: Call, approved: RefundRequest | None = None) -> Server[Any]:
    """`approved`: serve this action only, under its request_id whatever the model writes; for a host that cannot
    overwrite arguments itself.
    """

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_TOOL])

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name != NAME:
            raise MCPError(types.INVALID_PARAMS, f"There is no such tool; this server has {NAME}.")
        arguments = params.arguments or {}
        if approved is not None:
            arguments = for_the_tool(arguments, approved)
        # A client that gives up waiting abandons the call: what was begun goes on, and is found by its request_id.
        answer = await anyio.to_thread.run_sync(call, arguments, abandon_on_cancel=True)
        text = types.TextContent(type="text", text=json.dumps(answer))
        return types.CallToolResult(
            content=[text], structured_content=answer, is_error=answer["status"] in NOT_REFUNDED
        )

    return Server("refunds", on_list_tools=list_tools, on_call_tool=call_tool)


_TOOL = types.Tool(
    name=NAME,
    title=TITLE,
    description=DESCRIPTION,
    input_schema={**INPUT_SCHEMA, "additionalProperties": False},
    annotations=types.ToolAnnotations.model_validate(ANNOTATIONS),
)


def serve_stdio(server: Server[Any]) -> None:
    """Until the host closes standard input. Nothing else may write to standard output meanwhile."""

    async def run() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(run)


def serve_http(server: Server[Any], port: int, say: Callable[[str], None]) -> None:
    """On 127.0.0.1, until it is interrupted; `say` is told the address. Raises OSError where the port is taken."""
    listening = socket.create_server((HOST, port))
    # Each request stands for itself: what makes a repeat harmless is the request_id, not a session.
    app = server.streamable_http_app(json_response=True, stateless_http=True, host=HOST)
    say(f"http://{HOST}:{listening.getsockname()[1]}/mcp")
    config = Config()
    config.bind = [f"fd://{listening.detach()}"]
    config.accesslog, config.errorlog, config.loglevel = None, "-", "WARNING"

    async def run() -> None:
        stopped = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        await serve(app, config, shutdown_trigger=stopped.wait)  # type: ignore[arg-type]

    asyncio.run(run())
