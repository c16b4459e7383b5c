"""One refund through each way to call, on one local cloud: the deployed stacks, handlers, roles and queues."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio
import boto3
import pytest
from botocore.exceptions import ClientError
from mcp import Client, StdioServerParameters

from functions.refunds.adapters.bus import refund_requested
from functions.refunds.adapters.workflow import execution_arn, start
from functions.refunds.keys import mint_request_id
from functions.refunds.request import RefundRequest
from local.settings import REGION
from tests.local.refund_cloud import RefundCloud, refund_cloud
from tests.local.toy import wait_for

PROSPECTS = str(Path(sys.executable).with_name("prospects"))
LOST, LATE = (f"rf_{digit * 32}" for digit in "de")
RULES = [
    {"when": {"request_id": LOST}, "times": 1, "then": {"drop": "after_applying"}},
    {"when": {"request_id": LATE}, "times": 1, "then": {"delay_s": 3, "apply": "after"}},
]


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RefundCloud]:
    with refund_cloud(tmp_path_factory.mktemp("refunds"), RULES) as running:
        yield running


def test_invoked_directly_twice(cloud: RefundCloud) -> None:
    request = cloud.approved()
    assert [cloud.call(request)[1]["status"] for _ in range(2)] == ["done", "already_done"]
    assert cloud.made(request) == 1
    kind, error = cloud.call(request, amount_minor=9_999)
    assert kind == "KeyReusedError"
    assert error["errorMessage"].endswith(".")
    assert cloud.made(request) == 1


def test_approved_by_policy_through_the_approver_and_invoked_asynchronously_twice(cloud: RefundCloud) -> None:
    request = cloud.approved()
    wanted = {"order_id": request.order_id, "amount_minor": 700, "currency": "EUR", "request_id": mint_request_id()}
    assert cloud.invoke("Approve", wanted) == ("", {"decision": "CONFIRM", "request_id": wanted["request_id"]})
    second = RefundRequest(str(wanted["request_id"]), request.order_id, 700, "EUR")
    for _ in range(2):
        cloud.client("lambda").invoke(
            FunctionName=cloud.outputs["RefundToolFunctionName"],
            InvocationType="Event",
            Payload=json.dumps(asdict(second)).encode(),
        )
    cloud.wait_until_refunded(second)
    assert cloud.made(second) == 1


def test_from_the_queue_twice_and_what_is_no_refund_is_a_dead_letter_with_its_reason(cloud: RefundCloud) -> None:
    request = cloud.approved()
    bodies = [asdict(request), asdict(request), {**asdict(request), "amount_minor": 1}]
    entries = [{"Id": str(number), "MessageBody": json.dumps(body)} for number, body in enumerate(bodies)]
    cloud.client("sqs").send_message_batch(QueueUrl=cloud.outputs["RefundQueueUrl"], Entries=entries)
    cloud.wait_until_refunded(request)
    wait_for(lambda: cloud.running.dead_letters()["refund-queue-dlq"] == 1, deadline_s=60)
    assert cloud.made(request) == 1


def test_from_the_bus_twice(cloud: RefundCloud) -> None:
    request = cloud.approved()
    detail = json.dumps(refund_requested(request, source_agent="support@3").detail)
    entry = {"Source": "agents", "DetailType": "refund.requested", "Detail": detail}
    # Without a deduplication id the bus delivers both.
    answer = cloud.client("eventbridgev2").put_events(EventBusArn=cloud.outputs["EventBusArn"], Entries=[entry] * 2)
    assert answer["FailedEntryCount"] == 0
    cloud.wait_until_refunded(request)
    assert cloud.made(request) == 1


def test_through_the_workflow_started_twice(cloud: RefundCloud) -> None:
    request, states = cloud.approved(), cloud.client("stepfunctions")
    machine = cloud.outputs["RefundStateMachineArn"]
    assert [start(states, machine, request) for _ in range(2)] == ["started", "already_started"]
    assert ended(states, execution_arn(machine, request.request_id))["status"] == "SUCCEEDED"
    assert cloud.made(request) == 1


def test_through_the_command_that_starts_the_workflow_twice(cloud: RefundCloud) -> None:
    request = cloud.approved()
    command = [PROSPECTS, "refund", "start", "--local", request.request_id]
    said = [
        subprocess.run(command, cwd=cloud.folder, capture_output=True, text=True, check=True).stdout for _ in range(2)
    ]
    assert [each.partition(":")[0] for each in said] == ["Started", "Started before"]
    cloud.wait_until_refunded(request)
    assert cloud.made(request) == 1


def test_an_execution_of_what_nobody_approved_fails_by_name(cloud: RefundCloud) -> None:
    states, machine = cloud.client("stepfunctions"), cloud.outputs["RefundStateMachineArn"]
    request = RefundRequest(mint_request_id(), "A-1", 1, "EUR")
    start(states, machine, request)
    execution = ended(states, execution_arn(machine, request.request_id))
    assert (execution["status"], execution["error"]) == ("FAILED", "NotApprovedError")


def test_a_workflow_that_gives_up_before_the_tool_and_tries_again_pays_once(cloud: RefundCloud) -> None:
    request, states = cloud.approved(LATE), cloud.client("stepfunctions")
    ours = states.describe_state_machine(stateMachineArn=cloud.outputs["RefundStateMachineArn"])
    definition = json.loads(ours["definition"])
    # What our own never has: a task that waits less than the tool takes, and a retrier.
    retrier = {"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 1, "MaxAttempts": 2}
    definition["States"]["Pay"] |= {"TimeoutSeconds": 1, "Retry": [retrier]}
    impatient = states.create_state_machine(
        name="impatient", definition=json.dumps(definition), roleArn=ours["roleArn"]
    )["stateMachineArn"]
    start(states, impatient, request)
    ended(states, execution_arn(impatient, request.request_id))
    cloud.wait_until_refunded(request)
    assert cloud.made(request) == 1
    assert cloud.call(request)[1]["status"] == "already_done"


def ended(states: Any, arn: str) -> Any:
    def over() -> Any:
        found = states.describe_execution(executionArn=arn)
        return None if found["status"] == "RUNNING" else found

    return wait_for(over, deadline_s=60)


def test_a_lost_answer_is_unknown_and_the_reconciler_finds_the_one_refund(cloud: RefundCloud) -> None:
    request = cloud.approved(LOST)
    assert cloud.call(request)[1]["status"] == "unknown"
    kind, counts = cloud.invoke("Reconcile", {})
    assert (kind, counts["found"]) == ("", 1)
    assert cloud.call(request)[1]["status"] == "already_done"
    assert cloud.made(request) == 1


def test_over_mcp_by_stdio_twice(cloud: RefundCloud) -> None:
    request = cloud.approved()
    server = StdioServerParameters(
        command=PROSPECTS, args=["refund", "serve", "--local"], cwd=cloud.folder, env=dict(os.environ)
    )
    assert anyio.run(twice, server, request) == ["done", "already_done"]
    assert cloud.made(request) == 1


def test_over_mcp_by_http_twice_while_the_model_invents_its_keys(cloud: RefundCloud) -> None:
    request = cloud.approved()
    command = [PROSPECTS, "refund", "serve", "--local", "--http", "--only", request.request_id]
    invented = RefundRequest("rf_by_the_model", request.order_id, request.amount_minor, request.currency)
    with subprocess.Popen(command, cwd=cloud.folder, stdout=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stdout is not None
            address = serving.stdout.readline().removeprefix("endpoint ").strip()
            assert address.startswith("http://127.0.0.1:")
            assert anyio.run(twice, address, invented) == ["done", "already_done"]
        finally:
            serving.terminate()
    assert cloud.made(request) == 1


async def twice(server: Any, request: RefundRequest) -> list[str]:
    """The statuses that a client gets which lists the tools and calls the one of them twice."""
    async with Client(server) as client:
        (tool,) = (await client.list_tools()).tools
        answers = [await client.call_tool(tool.name, asdict(request)) for _ in range(2)]
    return [answer.structured_content["status"] for answer in answers]


def test_no_role_can_approve_and_execute(cloud: RefundCloud) -> None:
    request = cloud.approved()
    table, records = cloud.outputs["RefundLedgerTableName"], cloud.outputs["IdempotencyTableName"]
    action = {"row_id": {"S": f"action:{mint_request_id()}"}, "decision": {"S": "CONFIRM"}}
    decision = {
        "Key": {"row_id": {"S": f"action:{request.request_id}"}},
        "UpdateExpression": "SET decision = :confirm",
        "ExpressionAttributeValues": {":confirm": {"S": "CONFIRM"}},
    }
    for worker in ("Tool", "Queue", "Bus", "Reconcile"):
        tables = acting_as(cloud, worker)("dynamodb")
        assert refused(tables.put_item, TableName=table, Item=action)
        assert refused(tables.update_item, TableName=table, **decision)
        assert refused(tables.put_item, TableName=records, Item={"id": {"S": "classify-prospects:1"}})
    approver = acting_as(cloud, "Approve")
    tables, tool = approver("dynamodb"), cloud.outputs["RefundToolFunctionName"]
    refund = {"row_id": {"S": f"refund:{request.request_id}"}}
    assert refused(tables.put_item, TableName=table, Item=refund)
    assert refused(tables.put_item, TableName=records, Item={"id": {"S": f"refund:{request.request_id}"}})
    assert refused(approver("lambda").invoke, FunctionName=tool, Payload=json.dumps(asdict(request)).encode())
    assert cloud.made(request) == 0


def acting_as(cloud: RefundCloud, worker: str) -> Any:
    """Makes clients that act as the deployed role of a function."""
    function = cloud.client("lambda").get_function_configuration(
        FunctionName=cloud.outputs[f"Refund{worker}FunctionName"]
    )
    # Here the role is also let out to the account, which on AWS only Lambda assumes; its permissions stay as deployed.
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "arn:aws:iam::000000000000:root"}}
    name = function["Role"].rpartition("/")[2]
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    cloud.client("iam").update_assume_role_policy(RoleName=name, PolicyDocument=document)
    session = cloud.client("sts").assume_role(RoleArn=function["Role"], RoleSessionName="test")["Credentials"]

    def client(service: str) -> Any:
        return boto3.client(
            service,
            endpoint_url=cloud.running.endpoint,
            region_name=REGION,
            aws_access_key_id=session["AccessKeyId"],
            aws_secret_access_key=session["SecretAccessKey"],
            aws_session_token=session["SessionToken"],
        )

    return client


def refused(call: Any, **arguments: Any) -> bool:
    try:
        call(**arguments)
    except ClientError as error:
        return error.response["Error"]["Code"] in {"AccessDeniedException", "AccessDenied"}
    return False
