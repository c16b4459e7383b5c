"""The MCP server, asked by the library's own client: what it declares, and that one action is one refund."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from mcp import Client, MCPError

from cli.refund_mcp import deployed_tool, refund_server
from functions.refunds.adapters.direct import Direct
from functions.refunds.adapters.tool import for_the_tool
from functions.refunds.keys import mint_request_id
from functions.refunds.providers.protocol import Reply
from functions.refunds.request import FIELDS, RefundRequest

from .calling import INVOCATION_S, Told, approved, asked, paying
from .world import World

PAID, LOST = Reply("succeeded", refund_id="re_1"), Reply("unknown", "connection_lost")


def with_client(world: World, use: Callable[[Client], Awaitable[Any]], only: RefundRequest | None = None) -> Any:
    """What `use` gives of a client of a server whose tool works on the world."""
    direct = Direct(paying(world, Told()))
    server = refund_server(
        lambda given: direct(given, deadline=world.now + INVOCATION_S, by_gateway=True), approved=only
    )

    async def run() -> Any:
        async with Client(server) as client:
            return await use(client)

    return anyio.run(run)


def called(world: World, *arguments: dict[str, Any], only: RefundRequest | None = None) -> list[Any]:
    async def use(client: Client) -> list[Any]:
        return [await client.call_tool("refund", each) for each in arguments]

    found: list[Any] = with_client(world, use, only)
    return found


def test_the_one_tool_declares_the_request_id_and_says_what_a_repeat_does(world: World) -> None:
    (tool,) = with_client(world, lambda client: client.list_tools()).tools
    assert tool.name == "refund"
    assert set(tool.input_schema["properties"]) == set(tool.input_schema["required"]) == set(FIELDS)
    hints = tool.annotations
    assert (hints.read_only_hint, hints.destructive_hint) == (False, True)
    assert (hints.idempotent_hint, hints.open_world_hint) == (True, True)


def test_the_same_action_twice_is_one_refund(world: World) -> None:
    action, provider = approved(world, PAID)
    first, second = called(world, asked(action), asked(action))
    assert (first.structured_content["status"], second.structured_content["status"]) == ("done", "already_done")
    assert not first.is_error
    assert json.loads(first.content[0].text) == first.structured_content
    assert provider.sent == 1


def test_a_retry_that_the_model_writes_with_a_key_of_its_own_is_the_same_refund_through_the_host(world: World) -> None:
    action, provider = approved(world, PAID)
    written = [asked(action, request_id=mint_request_id()) for _ in range(2)]
    answers = called(world, *(for_the_tool(each, action.request) for each in written))
    assert [each.structured_content["status"] for each in answers] == ["done", "already_done"]
    assert provider.sent == 1


def test_a_server_of_one_action_replaces_what_the_model_wrote(world: World) -> None:
    action, provider = approved(world, PAID)
    without = {name: value for name, value in asked(action).items() if name != "request_id"}
    answers = called(world, asked(action, request_id="rf_mine"), without, only=action.request)
    assert [each.structured_content["status"] for each in answers] == ["done", "already_done"]
    assert provider.sent == 1


def test_a_refusal_is_an_error_of_the_tool_with_its_sentence(world: World) -> None:
    action, provider = approved(world)
    (refused,) = called(world, asked(action, amount_minor=9_999))
    assert refused.is_error
    assert refused.structured_content["reason"] == "key_reused"
    assert refused.structured_content["message"].endswith(".")
    assert provider.sent == 0


def test_an_unknown_refund_is_no_error_that_a_model_would_correct(world: World) -> None:
    action, _ = approved(world, LOST)
    (unknown,) = called(world, asked(action))
    assert (unknown.structured_content["status"], unknown.is_error) == ("unknown", False)


def test_another_tool_is_an_error_of_the_protocol(world: World) -> None:
    async def use(client: Client) -> None:
        with pytest.raises(MCPError, match="There is no such tool"):
            await client.call_tool("pay", {})

    with_client(world, use)


@pytest.mark.parametrize(
    "error",
    [
        ClientError({"Error": {"Code": "TooManyRequestsException", "Message": "Rate Exceeded"}}, "Invoke"),
        ReadTimeoutError(endpoint_url="https://lambda.example"),
    ],
)
def test_a_function_that_cannot_be_asked_is_an_error_of_the_protocol_and_no_traceback(
    error: Exception, capfd: pytest.CaptureFixture[str]
) -> None:
    async def run() -> None:
        server = refund_server(deployed_tool(Refusing(error), "RefundToolFunctionName"))
        async with Client(server) as client:
            with pytest.raises(MCPError, match="it is not known what became of this refund"):
                await client.call_tool("refund", {"request_id": mint_request_id()})

    anyio.run(run)
    assert "Traceback" not in capfd.readouterr().err


class Refusing:
    """A deployment whose tool does not answer."""

    def __init__(self, error: Exception) -> None:
        self.outputs: Mapping[str, str] = {"RefundToolFunctionName": "tool"}
        self.model_requests: int | None = None
        self._error = error

    def client(self, service: str) -> Any:
        assert service == "lambda"
        return self

    def invoke(self, **_: Any) -> Any:
        raise self._error

    def resource(self, service: str) -> Any:
        raise NotImplementedError(service)

    def dead_letters(self) -> Mapping[str, int]:
        return {}
