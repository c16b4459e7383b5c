"""The refund experiment's rules: what passes, what a prediction is worth, and which moments are tried."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import boto3
import pytest

from bench.refund_experiment.__main__ import main
from bench.refund_experiment.cell import Cell
from bench.refund_experiment.injections import ALWAYS, BATCH, NAMED, article_plan, random_plan
from bench.refund_experiment.predictions import VALIDATION, predicted
from bench.refund_experiment.report import broken, markdown
from bench.refund_experiment.requests import asked_of
from bench.refund_experiment.template import ExperimentStack
from bench.refund_experiment.timers import ACCOUNT, LOCAL
from bench.refund_experiment.variants import OURS, TOOLS, VARIANTS, points_of
from bench.refund_experiment.watching import Calls, is_over
from functions import crash_points

from .payments import payments
from .world import Aws, World

BY_NAME = {variant.name: variant for variant in VARIANTS}
ONE = Cell(NAMED["raise"], BY_NAME["5"], rows={"a": 1, "b": 1}, reused={"KeyReusedError": 2})


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": {"a": 1, "b": 2}},
        {"rows": {"a": 1, "b": 0}},
        {"others": {"c": 2}},
        {"reused": {"": 1, "KeyReusedError": 1}},
        {"amiss": ("its commitment is wrong",)},
    ],
)
def test_only_one_side_effect_each_and_a_refused_amount_pass(wrong: dict[str, object]) -> None:
    assert ONE.passed
    assert broken([ONE]) == []
    worse = replace(ONE, **wrong)
    assert not worse.passed
    assert broken([worse])
    # The others are there to be looked at.
    assert broken([replace(worse, variant=BY_NAME["1"])]) == []


def verdict(injection: str, variant: str, **found: object) -> str:
    cell = replace(Cell(NAMED[injection], BY_NAME[variant], rows={"a": 1}), **found)
    return predicted(cell).verdict(cell)


def test_a_prediction_held_or_failed_by_what_was_counted() -> None:
    assert verdict("raise", "2", rows={"a": 3, "b": 2}) == "held"
    assert verdict("raise", "2", rows={"a": 3, "b": 1}) == "FAILED"
    assert verdict("batch-whole", "3", others={"b": 1}) == "held"
    assert verdict("batch-whole", "3", others={"b": 2}) == "FAILED"
    assert verdict("batch-whole", "1", rows={"a": 9}, others={"b": 2}) == "held"
    assert verdict("batch-loop", "1", others={"b": 2, "c": 1}) == "FAILED"
    assert verdict("batch-loop", "2", rows={"a": 2}, others={"b": 1}) == "held"
    assert verdict("raise", "4", reused={VALIDATION: 3}) == "held"
    assert verdict("raise", "4", reused={VALIDATION: 2, "KeyReusedError": 1}) == "FAILED"
    assert verdict("raise", "1", rows={"a": 3}) == "-"


def test_the_tables_show_every_cell_and_every_prediction_that_a_run_can_refute() -> None:
    cells = [
        Cell(NAMED["raise"], BY_NAME["2"], rows={"a": 3, "b": 3}),
        Cell(NAMED["batch-loop"], BY_NAME["1"], rows={"a": 2}, others={"b": 1, "c": 2}),
        Cell(NAMED["raise"], BY_NAME["4"], rows={"a": 1}, reused={"KeyReusedError": 1}),
        Cell(NAMED["batch-loop"], BY_NAME["4"], rows={"a": 1}, others={"b": 1}, reused={VALIDATION: 1}),
        ONE,
    ]
    assert list(markdown(cells)) == [
        "| injection | 2 | 1 | 4 | 5 |",
        "|---|---|---|---|---|",
        "| raise: raises after the write, asynchronous | 3 |  | 1; `KeyReusedError` | 1; `KeyReusedError` |",
        "| batch-loop: record 3 of 5, without it, a plain loop |  | 2, the others 1 or 2 "
        f"| 1, the others 1; `{VALIDATION}` |  |",
        "",
        "| variant | predicted | held | did not |",
        "|---|---|---|---|",
        "| 2 | runs again: two or more rows | raise |  |",
        "| 1 | the four good records twice |  | batch-loop |",
        f"| 4 | raises {VALIDATION} | batch-loop | raise |",
    ]


def test_random_moments_are_all_the_moments_of_a_call_and_the_same_for_a_seed() -> None:
    points = points_of(BY_NAME["5s"])
    plans = [random_plan(NAMED["raise"], points, random.Random(seed)) for seed in range(300)]
    assert {plan.point for plan in plans} == set(points.all)
    assert {plan.times for plan in plans} == {1, ALWAYS}
    assert plans[7] == random_plan(NAMED["raise"], points, random.Random(7))


@pytest.mark.parametrize("variant", ["5", "5s"])
def test_the_moments_of_ours_are_those_that_a_call_passes(world: World, variant: str) -> None:
    points, provider = points_of(BY_NAME[variant]), BY_NAME[variant].provider
    assert points.written in points.all
    reached: list[str] = []
    with payments({}, world.clock) as stripe:
        world.providers["stripe"] = stripe.provider()
        world.order(provider=provider, payment="ch_10000eur_1" if provider == "stripe" else "")
        action = world.approve()
        with crash_points.armed(reached.append):
            assert world.run(action).status == "done"
    assert [*reached, "answered"] == list(points.all)


def test_a_batch_is_five_of_which_the_third_fails() -> None:
    injection = NAMED["batch-partial"]
    plan = article_plan(injection, points_of(BY_NAME["1"]))
    actions = asked_of(injection, [plan] * 2)
    assert [asked.plan for asked in actions] == [None, None, plan, None, None] * 2
    assert len({asked.request_id for asked in actions}) == 2 * BATCH
    assert [asked.plan for asked in asked_of(NAMED["raise"], [plan])] == [plan]


@pytest.mark.parametrize(
    ("injection", "calls", "expected", "over"),
    [
        ("raise", Calls(arrivals=2, failed=2, last_at=1_000), 0, False),
        ("raise", Calls(arrivals=2, failed=1, returned=1, last_at=1_000), 0, True),
        ("raise", Calls(arrivals=3, failed=3, last_at=1_000), 0, True),
        ("sleep", Calls(arrivals=3, last_at=1_000), 0, False),
        ("sleep", Calls(arrivals=3, last_at=900), 0, True),
        ("mcp", Calls(arrivals=2, returned=2, last_at=1_000), 3, False),
        ("mcp", Calls(arrivals=3, returned=2, last_at=1_000), 3, False),
        ("mcp", Calls(arrivals=3, returned=3, last_at=1_000), 3, True),
        ("batch-whole", Calls(), 0, False),
        ("batch-whole", Calls(arrivals=1, returned=1, last_at=1_000), 0, True),
    ],
)
def test_a_run_is_over_when_no_call_runs_and_none_will_come(
    injection: str, calls: Calls, expected: int, over: bool
) -> None:
    assert is_over(calls, NAMED[injection], expected, 1_001.0, LOCAL) == over


def test_wrong_numbers_are_refused_before_anything_starts(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--runs", "0"])
    assert "--runs and --handlers are numbers from 1" in capsys.readouterr().err


def test_without_credentials_nothing_is_made_and_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/dev/null")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    assert main(["--aws", "--yes", "--region", "eu-west-1"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("There are no usable AWS credentials")
    assert told.err.count("\n") == 1


def test_an_account_is_asked_for_first(
    aws: Aws, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("no\n"))
    assert main(["--aws", "--region", "eu-west-1", "--variant", "1"]) == 2
    told = capsys.readouterr().err
    assert "Region eu-west-1: the bucket refund-experiment-" in told
    assert told.endswith("Type yes to go on:\nNothing was made.\n")
    assert boto3.client("s3", region_name="eu-west-1").list_buckets()["Buckets"] == []


def test_the_templates_pass_cfn_lint(tmp_path: Path) -> None:
    files = []
    for tool in TOOLS:
        path = tmp_path / f"{tool.name}.json"
        path.write_text(
            json.dumps(ExperimentStack(tool, ACCOUNT, "a-bucket", "code.zip", stripe_secret="s").template())
        )
        files.append(str(path))
    done = subprocess.run(
        [sys.executable, "-c", "from cfnlint.runner import main; main()", "--", *files],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=tmp_path,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_the_ledger_of_ours_has_the_keys_and_the_index_that_its_code_asks_for(world: World) -> None:
    template = ExperimentStack(OURS, ACCOUNT, "a-bucket", "code.zip").template()
    table = template["Resources"]["Rows"]["Properties"]
    deployed = world.dynamodb.meta.client.describe_table(TableName=world.ledger_table.name)["Table"]
    assert table["KeySchema"] == deployed["KeySchema"]
    (index,), (known,) = table["GlobalSecondaryIndexes"], deployed["GlobalSecondaryIndexes"]
    assert {name: known[name] for name in index} == index
