"""The whole function: the real handler, the real SDK on a socket, moto, and what it writes to its log."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from functions.effects.store import IdempotencyDisabledError
from functions.settings import ClassifySettings, SettingsError
from tests.unit.classify_server import Exchange, ModelServer, error, http, message
from tests.unit.classify_world import REGION, Aws, World, aws_on_moto, event, fields

MODULE = "functions.classify.handler"
CANARY = "canary-7f3a21"


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    with aws_on_moto() as opened:
        yield opened


class Context:
    """Of Lambda's context, what a handler may use."""

    aws_request_id = "invocation-1"
    function_name = "classify"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


@dataclass
class Function:
    """The imported handler, and everything it printed or logged."""

    module: ModuleType
    world: World
    printed: io.StringIO

    def __call__(self, *bodies: dict[str, Any] | str) -> dict[str, Any]:
        records = []
        for body in bodies:
            message = self.world.received(body)
            records.append(
                {
                    "messageId": message.message_id,
                    "receiptHandle": message.receipt,
                    "body": message.body,
                    "attributes": {"ApproximateReceiveCount": str(message.receives)},
                }
            )
        with contextlib.redirect_stdout(self.printed):
            answer: dict[str, Any] = self.module.handler({"Records": records}, Context())
        return {"failed": answer["batchItemFailures"], "ids": [record["messageId"] for record in records]}

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.printed.getvalue().splitlines()]


@pytest.fixture
def environment(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world, and an environment that describes it to the handler."""
    world = World(aws)
    values = {
        **{name.upper(): str(value) for name, value in world.settings.model_dump().items()},
        "ANTHROPIC_SECRET_ID": f"key-{world.settings.prospects_table}",
        "AWS_DEFAULT_REGION": REGION,
        "POWERTOOLS_LOG_LEVEL": "DEBUG",
        "POWERTOOLS_METRICS_NAMESPACE": "Trial",
        "POWERTOOLS_LOGGER_LOG_EVENT": "true",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    return world


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer().running() as running:
        yield running


@pytest.fixture
def function(environment: World, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Function]:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    boto3.client("secretsmanager", region_name=REGION).create_secret(
        Name=f"key-{environment.settings.prospects_table}", SecretString="sk-canary-secret"
    )
    # Powertools binds its handler to the standard output of the first import.
    logging.Logger.manager.loggerDict.pop("classify", None)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        module = importlib.import_module(MODULE)
    yield Function(module, environment, printed)
    module._claude.close()
    monkeypatch.delitem(sys.modules, MODULE, raising=False)


def by_name(exchange: Exchange) -> None:
    """Overloaded for Bob, an answer for everybody else."""
    exchange.read()
    body = json.dumps(exchange.server.requests[-1][1])
    exchange.send(http(529, error("overloaded_error")) if "Bob" in body else http(200, message()))


def test_a_batch_reports_what_is_to_come_again(function: Function, server: ModelServer) -> None:
    server.behaviour = by_name
    answer = function(event(1), event(2, fields("Bob")), "malformed")
    assert answer["failed"] == [{"itemIdentifier": answer["ids"][1]}]
    assert function.world.row(1).label == "hot"  # type: ignore[union-attr]
    assert function.world.row(2) is None
    [metrics] = [line for line in function.lines() if "_aws" in line]
    assert metrics["service"] == "classify"
    assert metrics["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Trial"
    assert [metrics[name] for name in ("RowsReceived", "RowsClassified", "RowsReleased", "EventsMalformed")] == [
        [3.0], [1.0], [1.0], [1.0],
    ]  # fmt: skip
    assert metrics["CostMicrousd"] == [105.0]


def test_a_refused_account_is_told_once_a_batch(function: Function, server: ModelServer) -> None:
    server.behaviour = lambda exchange: (exchange.read(), exchange.send(http(401, error())))  # type: ignore[assignment]
    function(event(1), event(2, fields("Bob")))
    assert [line["ModelRefusals"] for line in function.lines() if "_aws" in line] == [[1.0]]
    [line] = [line for line in function.lines() if line.get("message", "").startswith("the model refuses")]
    assert (line["level"], line["reason"]) == ("ERROR", "llm_key_refused")


def test_no_row_text_and_no_key_is_ever_written(
    function: Function,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    ada, bob = (fields(name, notes=f"{CANARY} note", company=CANARY) for name in ("Ada", "Bob"))
    server.behaviour = by_name
    function(event(1, ada), event(2, bob), event(3, ada, key="0" * 64), f'{{"detail": "{CANARY}"}}')
    for reply in (http(400, error(text=CANARY)), http(200, message(CANARY)), b""):
        server.behaviour = lambda exchange, reply=reply: (exchange.read(), exchange.send(reply))  # type: ignore[misc]
        function(event(4, fields("Eve", notes=f"{CANARY} {len(reply)}")))

    def quoting(*_: Any, **__: Any) -> Any:
        raise ClientError({"Error": {"Code": "ValidationException", "Message": CANARY}}, CANARY)

    monkeypatch.setattr(function.module.UploadsTable, "put_row", quoting)
    function(event(5, fields("Kim", notes=CANARY)))
    everything = function.printed.getvalue() + caplog.text + "".join(capfd.readouterr())
    assert "ValidationException" in everything
    assert CANARY not in everything
    assert "example.com" not in everything
    assert "sk-canary-secret" not in everything


def test_a_disabled_idempotency_refuses_to_start(environment: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_IDEMPOTENCY_DISABLED", "true")
    with pytest.raises(IdempotencyDisabledError, match="every duplicate would be paid again"):
        importlib.import_module(MODULE)


def test_a_missing_setting_refuses_to_start(environment: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLASSIFY_QUEUE_URL")
    with pytest.raises(SettingsError, match="CLASSIFY_QUEUE_URL"):
        importlib.import_module(MODULE)


def test_a_missing_secret_refuses_to_start(environment: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_SECRET_ID")
    with pytest.raises(SettingsError, match="name the secret that holds the Anthropic API key"):
        importlib.import_module(MODULE)


def test_bedrock_needs_a_region_and_no_secret(function: Function, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ClassifySettings.from_env().model_copy(update={"model_provider": "bedrock", "anthropic_secret_id": ""})
    monkeypatch.delenv("AWS_REGION", raising=False)
    with pytest.raises(SettingsError, match="AWS_REGION is not set"):
        function.module.build_provider(settings)
    monkeypatch.setenv("AWS_REGION", REGION)
    assert type(function.module.build_provider(settings)).__name__ == "BedrockProvider"
