"""`prospects refund …` on a deployment whose functions run the real use cases."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli import refund_commands, refund_serving
from cli.main import app
from cli.target import Target
from functions.refunds.approval import Wanted
from functions.refunds.errors import RefundError
from functions.refunds.keys import action_row
from functions.refunds.request import RefundRequest

from .payments import payments
from .world import INVOCATION_S, World

PAYMENT = "ch_10000eur_1"


class Cloud:
    """The deployed stacks of a world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.model_requests: int | None = None
        self.outputs: Mapping[str, str] = {
            "RefundLedgerTableName": world.ledger_table.name,
            "IdempotencyTableName": world.idempotency_table.name,
            "RefundToolFunctionName": "tool",
            "RefundApproveFunctionName": "approve",
            "RefundReconcileFunctionName": "reconcile",
            "RefundStateMachineArn": "arn:aws:states:eu-west-1:1:stateMachine:refunds",
        }

    def client(self, service: str) -> Any:
        assert service == "lambda"
        return self

    def resource(self, service: str) -> Any:
        assert service == "dynamodb"
        return self._world.dynamodb

    def dead_letters(self) -> Mapping[str, int]:
        return {}

    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803
        functions: dict[str, Callable[[Any], Any]] = {
            "tool": self._run,
            "approve": self._approve,
            "reconcile": lambda _event: dict.fromkeys(self._world.reconcile(), 1),
        }
        try:
            answer, failed = functions[FunctionName](json.loads(Payload)), {}
        except RefundError as error:
            answer = {"errorType": type(error).__name__, "errorMessage": str(error)}
            failed = {"FunctionError": "Unhandled"}
        return {"Payload": io.BytesIO(json.dumps(answer).encode()), **failed}

    def _run(self, event: Any) -> Any:
        request = RefundRequest.parse(event)
        return self._world.refund.run(request, deadline=self._world.now + INVOCATION_S).to_json()

    def _approve(self, event: Any) -> Any:
        request_id = event.pop("request_id")
        action = self._world.approvals.by_policy(Wanted(**event), request_id=request_id)
        return {"decision": action.decision if action else "needs_a_person", "request_id": request_id}


class Shell:
    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        cloud = Cloud(world)
        target = Target(cloud, "a test", "arn:ann", "ProspectUploader", "eu-west-1", "1")
        for commands in (refund_commands, refund_serving):
            monkeypatch.setattr(commands, "find_target", lambda *_a, **_k: target)

    def run(self, *arguments: object) -> Result:
        return CliRunner().invoke(app, ["refund", *(str(argument) for argument in arguments)])

    def says(self, *arguments: object) -> str:
        result = self.run(*arguments)
        assert result.exit_code == 0, result.output
        return result.stdout

    def refused(self, *arguments: object, code: int = 1) -> str:
        result = self.run(*arguments)
        assert result.exit_code == code, result.output
        [sentence] = result.stderr.splitlines()
        return sentence

    def approve(self, *arguments: object) -> str:
        return request_id_in(self.says("approve", *arguments, "--why", "broken", "--yes"))


def request_id_in(text: str) -> str:
    found = re.search(r"rf_[0-9a-f]{32}", text)
    assert found
    return found[0]


@pytest.fixture
def shell(world: World, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(world, monkeypatch)


def test_from_an_order_to_its_refund(shell: Shell, world: World) -> None:
    assert "100.00 EUR for A-1" in shell.says("order", "A-1", 10_000, "EUR")
    key = shell.approve("A-1", 1_250, "EUR")
    assert "not paid yet" in shell.says("status", key)
    assert json.loads(shell.says("list", "--json"))["open"][0]["standing"] == "not_started"
    assert "12.50 EUR" in shell.says("run", key)
    assert "nothing was done again" in shell.says("run", key)
    told = json.loads(shell.says("status", key, "--json"))
    assert (told["standing"], told["decided_by"], told["why"]) == ("done", "arn:ann", "broken")
    assert "No approved refund is open" in shell.says("list")
    assert len(world.rows()) == 1


def test_a_lost_answer_is_reconciled_from_the_command_line(shell: Shell, world: World) -> None:
    dropped = {"rules": [{"when": {"request": 1}, "then": {"drop": "after_applying"}}]}
    with payments(dropped, world.clock) as stripe:
        world.providers["stripe"] = stripe.provider()
        shell.says("order", "A-1", 10_000, "EUR", "--stripe", PAYMENT)
        key = shell.approve("A-1", 1_250, "EUR")
        assert "not known yet" in shell.refused("run", key)
        assert "unknown" in shell.says("list")
        assert "1 found" in shell.says("reconcile")
        assert "by reconciler" in shell.says("status", key)
        assert stripe.standin.counts()["refunds"] == 1


def test_a_person_settles_what_the_provider_cannot_tell_and_is_named_in_the_record(shell: Shell, world: World) -> None:
    dropped = {"rules": [{"when": {"request": 1}, "then": {"drop": "before_applying"}}]}
    with payments(dropped, world.clock) as stripe:
        world.providers["stripe"] = stripe.provider()
        shell.says("order", "A-1", 10_000, "EUR", "--stripe", PAYMENT)
        key = shell.approve("A-1", 1_250, "EUR")
        shell.refused("run", key)
        settle = ("resolve", key, "--as", "absent", "--reason", "not on the statement", "--yes")
        assert "names a refund that was made" in shell.refused(*settle, "--refund-id", "re_1", code=2)
        assert "not unknown" in shell.refused(*settle, "--attempt", 2)
        shell.says(*settle)
        assert "attempts    1" in shell.says("status", key)
        assert "12.50 EUR" in shell.says("run", key)
        assert "by arn:ann" in shell.says("status", key)
        assert "not unknown" in shell.refused("resolve", key, "--as", "absent", "--reason", "again", "--yes")
        assert stripe.standin.counts()["refunds"] == 1


def test_an_item_that_somebody_broke_is_named_and_hides_no_other(shell: Shell, world: World) -> None:
    shell.says("order", "A-1", 10_000, "EUR")
    broken, other = shell.approve("A-1", 100, "EUR"), shell.approve("A-1", 200, "EUR")
    world.ledger_table.update_item(
        Key=action_row(broken),
        UpdateExpression="SET amount_minor = :text",
        ExpressionAttributeValues={":text": "a hundred"},
    )
    told = {each["request_id"]: each["standing"] for each in json.loads(shell.says("list", "--json"))["open"]}
    assert told == {broken: "unreadable", other: "not_started"}
    assert all(text in shell.says("list") for text in (broken, "unreadable", other))
    for command in (("status", broken), ("run", broken), ("resolve", broken, "--as", "absent", "--reason", "r")):
        assert "is not as it was written" in shell.refused(*command, code=2)
    assert "2.00 EUR" in shell.says("run", other)


def test_what_was_denied_is_neither_run_nor_started_nor_served(shell: Shell, world: World) -> None:
    shell.says("order", "A-1", 10_000, "EUR")
    key = request_id_in(shell.says("deny", "A-1", 1_250, "EUR", "--why", "no"))
    for command in (("run", key), ("start", key), ("serve", "--only", key)):
        assert "was denied" in shell.refused(*command)
    assert "--port is of --http" in shell.refused("serve", "--port", 8123, code=2)


def test_policy_approves_up_to_its_limit_and_a_person_above_it(shell: Shell, world: World) -> None:
    shell.says("order", "A-1", 10_000, "EUR")
    assert "Approved by policy" in shell.says("request", "A-1", 5_000, "EUR")
    result = shell.run("request", "A-1", 5_001, "EUR")
    assert result.exit_code == 1
    assert "a person decides" in result.stderr
    assert len(world.rows("action:")) == 1


def test_repeating_an_approval_with_its_request_id_approves_nothing_more(shell: Shell, world: World) -> None:
    shell.says("order", "A-1", 10_000, "EUR")
    key = shell.approve("A-1", 1_250, "EUR")
    assert shell.approve("A-1", 1_250, "EUR", "--request-id", key) == key
    assert world.order_of().committed_minor == 1_250
    assert "decided before" in shell.refused("deny", "A-1", 1_250, "EUR", "--why", "no", "--request-id", key)
    assert "stands for another" in shell.refused("approve", "A-1", 1, "EUR", "--why", "x", "--yes", "--request-id", key)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("order", "A-1", 0, "EUR"), 2, "amount_minor is out of range"),
        (("order", "A-1", 100, "eur"), 2, "currency is no code"),
        (("order", "A 1", 100, "EUR"), 2, "order_id is missing or malformed"),
        (("order", "A-1", 100, "EUR", "--stripe", "x"), 2, "payment is no name"),
        (("order", "A-1", 100, "USD"), 1, "recorded with other facts"),
        (("approve", "A-9", 100, "EUR", "--why", "x", "--yes"), 1, "There is no order A-9"),
        (("approve", "A-1", 10_001, "EUR", "--why", "x", "--yes"), 1, "no more than 100.00 EUR"),
        (("approve", "A-1", 100, "USD", "--why", "x", "--yes"), 2, "was paid in EUR"),
        (("approve", "A-1", 100, "EUR", "--why", " ", "--yes"), 2, "--why takes"),
        (("approve", "A-1", 100, "EUR", "--why", "x"), 2, "repeat the command with --yes"),
        (("run", "rf_1"), 2, "request_id is missing or malformed"),
        (("run", "rf_" + 32 * "0"), 1, "No approved action"),
        (("status", "rf_" + 32 * "0"), 1, "No approved action"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_nothing_is_changed(
    shell: Shell, world: World, arguments: tuple[object, ...], code: int, says: str
) -> None:
    world.order()
    before = world.rows("")
    result = shell.run(*arguments)
    assert (result.exit_code, says in result.stderr.splitlines()[-1]) == (code, True), result.output
    assert len(result.stderr.splitlines()) == 1
    assert world.rows("") == before


def test_a_deployment_without_the_tool_says_so(shell: Shell, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = Cloud(world)
    bare.outputs = {name: value for name, value in bare.outputs.items() if "Function" not in name}
    target = Target(bare, "a test", "arn:ann", "ProspectUploader", "eu-west-1", "1")
    monkeypatch.setattr(refund_commands, "find_target", lambda *_a, **_k: target)
    assert "refunds=true" in shell.refused("reconcile", code=2)
