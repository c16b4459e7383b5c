"""Real handler processes that raise, die or stall where the plan says, and as often as it says over all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from local.faults.plan import HandlerPlan, PointFault
from local.running import ask
from tests.local.toy import Toy, function, role, served

HANDLER = """
import os
import httpx2
from functions.crash_points import reach

def handler(event, context):
    caught = ""
    try:
        reach(event["point"])
    except Exception as error:
        caught = type(error).__name__
    if event["point"] == "asks":
        httpx2.Client(trust_env=False).post(os.environ["AWS_ENDPOINT_URL"] + "/_local/status", content=b"x")
    return {"pid": os.getpid(), "caught": caught}
"""
PLAN = HandlerPlan(
    hooks=["local.faults.crash_point_hook", "local.faults.request_hook"],
    faults=[
        PointFault(point="raises", does="raise", times=2),
        PointFault(point="aborts", does="abort"),
        PointFault(point="dies", does="kill", after=1),
        PointFault(point="stalls", does="sleep"),
        PointFault(point="request.sent", does="kill"),
    ],
)


@pytest.fixture(scope="module")
def armed() -> Iterator[Toy]:
    with served(handler_faults=PLAN.model_dump()) as running:
        running.deploy(
            "armed", {"Role": role(), "Function": function(HANDLER, FunctionName="armed", Timeout=8)}, {"Name": "armed"}
        )
        yield running


def invoke(toy: Toy, point: str) -> Any:
    """What it returned, or the error Lambda reports."""
    answer = toy.clients.client("lambda").invoke(FunctionName="armed", Payload=json.dumps({"point": point}).encode())
    return json.loads(answer["Payload"].read())


def test_an_exception_is_raised_as_often_as_planned_and_the_handler_may_catch_it(armed: Toy) -> None:
    assert [invoke(armed, "raises")["caught"] for _ in range(3)] == ["InjectedError", "InjectedError", ""]


@pytest.mark.parametrize("point", ["aborts", "stalls", "asks"])
def test_an_end_that_nothing_catches_ends_the_process_once(armed: Toy, point: str) -> None:
    before = invoke(armed, "nothing")["pid"]
    assert "errorMessage" in invoke(armed, point)
    after = invoke(armed, point)
    assert after["pid"] != before
    assert after["caught"] == ""


def test_what_one_process_let_pass_counts_for_the_next(armed: Toy) -> None:
    assert "pid" in invoke(armed, "dies")
    assert "errorMessage" in invoke(armed, "dies")
    assert "pid" in invoke(armed, "dies")


def test_what_came_is_told(armed: Toy) -> None:
    for _ in range(2):
        invoke(armed, "raises")
    assert ask(armed.clients.endpoint, "injected")["handler"][0] == 2


def test_everything_handed_to_a_function_is_counted(armed: Toy) -> None:
    before = ask(armed.clients.endpoint, "deliveries")["armed"]
    for _ in range(3):
        invoke(armed, "nothing")
    assert ask(armed.clients.endpoint, "deliveries")["armed"] == before + 3


def test_a_plan_that_says_nothing_known_is_refused() -> None:
    with pytest.raises(ValueError, match="does"):
        PointFault.model_validate({"point": "x", "does": "vanish"})
