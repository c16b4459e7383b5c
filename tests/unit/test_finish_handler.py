"""The Lambda entry point: settings from the environment, one tick, and how many looks ended how."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from functions.finish import handler as module
from functions.settings import SettingsError
from tests.unit.finish_world import BUCKET, REGION, World, a_row

ENVIRONMENT = {
    "UPLOADS_BUCKET": BUCKET,
    "PROSPECTS_TABLE": "prospects",
    "IDEMPOTENCY_TABLE": "idempotency",
    "EVENT_BUS_ARN": "arn:aws:events:eu-west-1:1:event-busv2/b/x",
    "ALERTS_TOPIC_ARN": "arn:aws:sns:eu-west-1:1:alerts",
    "INTAKE_FUNCTION_NAME": "intake",
    "CLASSIFY_QUEUE_URL": f"https://sqs.{REGION}.amazonaws.com/123456789012/classify",
}


class Context:
    function_name = "finish"
    memory_limit_in_mb = 512
    invoked_function_arn = "arn:aws:lambda:eu-west-1:1:function:finish"
    aws_request_id = "r-1"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with mock_aws():
        _forget()
        yield World()
        _forget()


def _forget() -> None:
    for made in (module._settings, module._clients):
        made.cache_clear()


def test_an_invocation_is_one_tick_over_what_is_open(world: World) -> None:
    world.admit()
    world.end_rows(a_row(1))
    assert module.handler({}, _context()) == {"counted": 1}
    assert world.upload().state == "running"


def test_a_function_that_is_not_told_its_table_says_which_variable_is_missing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PROSPECTS_TABLE")
    with pytest.raises(SettingsError, match="PROSPECTS_TABLE"):
        module.handler({}, _context())


def _context() -> Any:
    return Context()
