"""The refund experiment, small, on a real local cloud: ours, and the decorator alone as `--aws` deploys it."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any

import pytest

import stacks.bundle
from bench.refund_experiment.__main__ import main
from bench.refund_experiment.injections import NAMED
from bench.refund_experiment.local_ground import local_ground
from bench.refund_experiment.run import NAIVE_RUNS, Experiment, Ground
from bench.refund_experiment.timers import LOCAL
from bench.refund_experiment.variants import OURS, VARIANTS
from local.clients import client_environment
from local.running import RunningCloud

RUNS = 2


@pytest.fixture(scope="module")
def cloud() -> Iterator[RunningCloud]:
    with local_ground(OURS, handlers=1) as running:
        yield running


def test_ours_is_one_refund_in_the_ledger_and_one_at_stripe_at_whatever_moment_it_raises(cloud: RunningCloud) -> None:
    ground = Ground(cloud, LOCAL, 1, lambda: cloud.refunds()["by_request_id"])
    ours = [variant for variant in VARIANTS if variant.tool is OURS]
    cells = list(Experiment(ground, runs=RUNS, seed=1).cells(ours, [NAMED["raise"]]))
    assert [cell.variant for cell in cells] == ours
    for cell in cells:
        assert list(cell.rows.values()) == [1] * RUNS
        assert (cell.reused, cell.amiss) == ({"KeyReusedError": RUNS}, ())


def test_an_account_is_left_as_it_was_found(
    cloud: RunningCloud, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The whole of `--aws`, with the local cloud as the account; and a raise after the write pays three times."""
    for name, value in client_environment(cloud.endpoint).items():
        monkeypatch.setenv(name, value)
    # The dependencies are those of this machine here.
    monkeypatch.setattr(stacks.bundle, "build", functools.partial(_build, build=stacks.bundle.build))
    before = _kept(cloud)
    assert main(["--aws", "--yes", "--json", "--variant", "2", "--only", "raise"]) == 0
    told = capsys.readouterr()
    (cell,) = json.loads(told.out)["cells"]
    assert (cell["side_effects"], cell["calls"], cell["held"]) == ({"3": NAIVE_RUNS}, {"3": NAIVE_RUNS}, "held")
    assert "Everything is deleted again" in told.err
    assert _kept(cloud) == before


def _build(target: Any, *, with_dependencies: bool, build: Any) -> None:
    assert with_dependencies
    build(target, with_dependencies=False)


def _kept(cloud: RunningCloud) -> dict[str, set[str]]:
    """What an account pays for, or would find again."""
    stacks_left = cloud.client("cloudformation").list_stacks()["StackSummaries"]
    return {
        "stacks": {each["StackName"] for each in stacks_left if each["StackStatus"] != "DELETE_COMPLETE"},
        "buckets": {each["Name"] for each in cloud.client("s3").list_buckets()["Buckets"]},
        "tables": set(cloud.client("dynamodb").list_tables()["TableNames"]),
        "functions": {each["FunctionName"] for each in cloud.client("lambda").list_functions()["Functions"]},
        "queues": set(cloud.client("sqs").list_queues().get("QueueUrls", ())),
        "roles": {each["RoleName"] for each in cloud.client("iam").list_roles()["Roles"]},
        "logs": {each["logGroupName"] for each in cloud.client("logs").describe_log_groups()["logGroups"]},
        "machines": {each["name"] for each in cloud.client("stepfunctions").list_state_machines()["stateMachines"]},
    }
