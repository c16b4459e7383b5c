"""Called directly, by a gateway, and through a workflow: what the caller gets, and that bad input moves nothing."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from functions.refunds import errors
from functions.refunds.adapters.direct import Direct, by_gateway
from functions.refunds.adapters.tool import INPUT_SCHEMA, for_the_tool
from functions.refunds.adapters.workflow import execution_arn, start
from functions.refunds.errors import KeyReusedError
from functions.refunds.keys import mint_request_id
from functions.refunds.providers.protocol import Reply
from functions.refunds.request import FIELDS, RefundRequest

from .calling import INVOCATION_S, KINDS, Told, approved, asked, bad_requests, paying
from .world import World

PAID, LOST = Reply("succeeded", refund_id="re_1"), Reply("unknown", "connection_lost")
NO_KEY, REFUSED = Reply("released", "account_refused"), Reply("failed", "charge_already_refunded")


def call(world: World, event: object, told: Told | None = None, *, gateway: bool = False) -> dict[str, Any]:
    direct = Direct(paying(world, told or Told()))
    return direct(event, deadline=world.now + INVOCATION_S, by_gateway=gateway)


def test_a_call_pays_and_its_repeat_says_so_without_paying(world: World) -> None:
    action, provider = approved(world, PAID)
    told = Told()
    first, second = (call(world, asked(action), told) for _ in range(2))
    assert (first["status"], second["status"], provider.sent) == ("done", "already_done", 1)
    assert first["refund_id"] == second["refund_id"] == "re_1"
    assert told.metrics == ["RefundsDone", "RefundsRepeated"]


@pytest.mark.parametrize(
    ("reply", "status", "metric"),
    [
        (LOST, "unknown", "RefundsUnknown"),
        (NO_KEY, "not_started", "RefundsNotStarted"),
        (REFUSED, "failed", "RefundsFailed"),
    ],
)
def test_what_is_no_refund_yet_is_an_answer_and_no_error(world: World, reply: Reply, status: str, metric: str) -> None:
    action, _ = approved(world, reply)
    told = Told()
    answer = call(world, asked(action), told)
    assert (answer["status"], answer["reason"]) == (status, reply.reason)
    assert answer["message"]
    assert told.lines == [(metric, {"request_id": action.request_id, "reason": reply.reason})]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gateway", [False, True])
def test_bad_input_is_a_typed_error_in_a_sentence_and_moves_nothing(world: World, kind: str, *, gateway: bool) -> None:
    action, provider = approved(world)
    given, name = bad_requests(action)[kind]
    before, told = world.rows(""), Told()
    if gateway:
        refused = call(world, given, told, gateway=True)
        assert (refused["status"], refused["reason"]) == ("refused", getattr(errors, name).code)
        sentence = refused["message"]
    else:
        with pytest.raises(getattr(errors, name)) as raised:
            call(world, given, told)
        sentence = str(raised.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert told.metrics == ["KeysReused" if name == "KeyReusedError" else "RefundsRefused"]
    assert (world.rows(""), world.record(action), provider.sent) == (before, None, 0)


def test_a_gateway_is_known_by_the_tools_name_in_its_client_context() -> None:
    client = SimpleNamespace(custom={"bedrockAgentCoreToolName": "target___refund"})
    contexts: list[Any] = [SimpleNamespace(client_context=client), SimpleNamespace(client_context=None)]
    contexts.append(SimpleNamespace(client_context=SimpleNamespace(custom=None)))
    assert [by_gateway(each) for each in contexts] == [True, False, False]


def test_whatever_request_id_the_model_wrote_the_host_calls_with_the_approved_one(world: World) -> None:
    action, provider = approved(world, PAID)
    by_the_model = [asked(action, request_id=written) for written in (mint_request_id(), "rf_1", "")]
    by_the_model.append({name: value for name, value in asked(action).items() if name != "request_id"})
    answers = [call(world, for_the_tool(each, action.request), gateway=True)["status"] for each in by_the_model]
    assert answers == ["done", *["already_done"] * 3]
    assert provider.sent == 1


def test_a_model_that_writes_another_amount_under_the_approved_request_id_is_refused(world: World) -> None:
    action, provider = approved(world)
    arguments = for_the_tool(asked(action, amount_minor=9_999), action.request)
    assert call(world, arguments, gateway=True)["reason"] == "key_reused"
    assert provider.sent == 0


def test_the_tools_schema_declares_what_a_request_is_made_of() -> None:
    assert INPUT_SCHEMA["properties"].keys() == set(FIELDS)
    assert set(INPUT_SCHEMA["required"]) == set(FIELDS)


REQUEST = RefundRequest("rf_" + "a" * 32, "A-1", 1_250, "EUR")


@pytest.fixture
def machine(aws: object) -> tuple[Any, str]:
    client = boto3.client("stepfunctions", region_name="eu-west-1")
    definition = {"StartAt": "End", "States": {"End": {"Type": "Succeed"}}}
    role = "arn:aws:iam::123456789012:role/any"
    name = mint_request_id()
    made = client.create_state_machine(name=name, definition=json.dumps(definition), roleArn=role)
    return client, made["stateMachineArn"]


def test_an_action_is_one_execution_named_by_its_request_id_however_often_it_is_started(
    machine: tuple[Any, str],
) -> None:
    client, arn = machine
    for _ in range(3):
        # A running one with the same input is answered as if it had just been started.
        assert start(client, arn, REQUEST) in {"started", "already_started"}
    names = [each["name"] for each in client.list_executions(stateMachineArn=arn)["executions"]]
    assert names == [REQUEST.request_id]
    client.stop_execution(executionArn=execution_arn(arn, REQUEST.request_id))
    assert start(client, arn, REQUEST) == "already_started"


def test_another_request_under_a_used_name_is_a_reused_key(machine: tuple[Any, str]) -> None:
    client, arn = machine
    start(client, arn, REQUEST)
    with pytest.raises(KeyReusedError):
        start(client, arn, RefundRequest(REQUEST.request_id, "A-1", 1_251, "EUR"))
    assert len(client.list_executions(stateMachineArn=arn)["executions"]) == 1
