"""`prospects approve`, `resume`, `failures`, `retry` and `audit` on stored uploads: plan, order, refusal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from cli import asking
from functions.classify.task import build_task
from functions.clock import wall_clock
from functions.effects.claims import Claims
from functions.effects.table import EffectTable
from functions.intake.questions import Questions
from functions.intake.records import open_csv
from functions.settings import Limits, TaskSettings
from functions.uploads.budget import budget_day
from functions.uploads.model import Budget, Counts, RowItem, Upload
from functions.uploads.terminal import RowIdentity, terminal_row
from tests.unit.cli_world import Shell, on_aws
from tests.unit.finish_world import CSV, REGION, a_row

ID = "u-0123456789abcdef01234567"
TASK = build_task(TaskSettings())


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    with on_aws(monkeypatch, tmp_path) as found:
        found.deploy()
        found.settings(max_paid_attempts=1, max_day_microusd=50_000_000)
        yield found


def waiting(shell: Shell, **changes: Any) -> Upload:
    counts = Counts(records=6, valid=3, rejected=1, duplicates=1, blank=1, known=1)
    values = {"state": "needs_approval", "counts": counts, "worst_case_microusd": 12_345_678}
    return shell.world.admit(upload_id=ID, **(values | changes))


def given_up(shell: Shell, number: int) -> RowItem:
    """The item of a row that was never billed, with its record, as the worker leaves them on the last receive."""
    question = next(Questions(TASK).of(r) for r in open_csv([CSV], Limits()).records() if r.number == number)
    row = RowIdentity(ID, number, question.line, question.key, TASK.prompt_version)
    effects = EffectTable(boto3.resource("dynamodb", region_name=REGION).Table("idempotency"))
    claims = Claims(effects, max_paid_attempts=1, retention_days=None, lease_grace_s=1, clock=wall_clock)
    record = claims.give_up(question.effect_id, "hash", "llm_overloaded", row.origin)
    return terminal_row(row, record, 9)


def done(shell: Shell, *rows: RowItem) -> Upload:
    shell.world.admit(upload_id=ID, task=TASK.to_json(), prompt_version=TASK.prompt_version)
    shell.world.end_rows(*rows)
    shell.world.tick()
    assert shell.world.upload(ID).state == "done"
    return shell.world.upload(ID)


def classified(*numbers: int) -> list[RowItem]:
    return [a_row(number, upload_id=ID) for number in numbers]


def test_approving_shows_the_price_first_and_reserves_it(shell: Shell) -> None:
    waiting(shell)
    result = shell.run("approve", ID, "--yes")
    assert result.exit_code == 0
    for shown in (
        "2 rows to ask the model, 1 known",
        "1 rows are answered from stored outcomes, at 0.000000 USD",
        "worst case  12.345678 USD",
        "50.000000 USD are left of today's (UTC)",
        "ProspectUploader in eu-west-1 (account 123456789012)",
    ):
        assert shown in result.stdout
    upload = shell.world.upload(ID)
    assert (upload.state, upload.reserved_microusd) == ("running", 12_345_678)
    assert shell.world.table.get_budget(budget_day(wall_clock())) == Budget(committed_microusd=12_345_678)
    stored = shell.world.raw_table.get_item(Key={"pk": f"{ID}#00", "sk": "META"})["Item"]
    assert stored["approved_by"].startswith("arn:aws:")


def test_a_plan_beyond_the_days_ceiling_says_by_how_much(shell: Shell) -> None:
    shell.settings(max_day_microusd=10_000_000)
    waiting(shell)
    assert "this goes 2.345678 USD beyond it" in shell.run("approve", ID, "--yes").stdout


def test_a_plan_beyond_the_ceiling_of_an_upload_says_that_too(shell: Shell) -> None:
    shell.settings(max_upload_microusd=10_000_000, max_day_microusd=50_000_000)
    waiting(shell)
    shown = shell.run("approve", ID, "--yes").stdout
    assert "ceilings    10.000000 USD for an upload; this goes 2.345678 USD beyond it\n" in shown
    assert "50.000000 USD are left of today's (UTC)\n" in shown


def test_without_a_ceiling_it_says_so(shell: Shell) -> None:
    shell.settings(max_day_microusd=0)
    waiting(shell)
    assert "none is set for a day" in shell.run("approve", ID, "--yes").stdout


def test_where_nobody_can_be_asked_nothing_is_approved_without_yes(shell: Shell) -> None:
    waiting(shell)
    result = shell.run("approve", ID)
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "This may cost money and nobody can be asked here, so nothing was changed; repeat the command with --yes."
    ]
    assert shell.world.upload(ID).state == "needs_approval"


@pytest.mark.parametrize(("answer", "code", "state"), [("y", 0, "running"), ("", 1, "needs_approval")])
def test_at_a_terminal_it_asks(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, state: str
) -> None:
    monkeypatch.setattr(asking, "at_terminal", lambda: True)
    waiting(shell)
    result = shell.run("approve", ID, input=f"{answer}\n")
    assert result.exit_code == code
    assert "Let it run? [y/N]" in result.stdout
    assert shell.world.upload(ID).state == state


@pytest.mark.parametrize("order", [("approve", ID, "--yes"), ("resume", ID), ("retry", ID, "--yes")])
def test_an_order_for_another_state_is_one_sentence_and_changes_nothing(shell: Shell, order: tuple[str, ...]) -> None:
    shell.world.admit(upload_id=ID)
    before = shell.world.raw_table.scan()["Items"]
    assert shell.refused(*order, code=1).startswith(f"The upload {ID} is running;")
    assert shell.world.raw_table.scan()["Items"] == before


@pytest.mark.parametrize("command", ["approve", "resume", "retry", "failures"])
def test_an_unknown_upload_is_one_sentence(shell: Shell, command: str) -> None:
    assert shell.refused(command, "u-ffffffffffffffffffffffff", code=1).startswith("There is no upload")


def test_a_paused_upload_goes_on_and_the_reason_is_said_again(shell: Shell) -> None:
    upload = shell.world.admit(upload_id=ID)
    shell.world.table.pause(upload, "llm_key_refused")
    result = shell.run("resume", ID[:8])
    assert result.exit_code == 0
    assert "paused for llm_key_refused" in result.stdout
    assert (shell.world.upload(ID).state, shell.world.upload(ID).resumes) == ("running", 1)


def test_failures_say_record_line_reason_and_what_to_do(shell: Shell) -> None:
    done(
        shell,
        given_up(shell, 5),
        a_row(1, "unknown", upload_id=ID, reason="llm_timeout_outcome_unknown"),
        *classified(6),
    )
    found = shell.json("failures", ID)
    assert list(found) == ["upload_id", "state", "failed", "unknown", "rejected", "rows"]
    assert (found["failed"], found["unknown"], found["rejected"]) == (1, 1, 1)
    assert [list(row) for row in found["rows"]] == [
        ["row", "line", "outcome", "reason", "detail", "advice", "retryable"]
    ] * 3
    assert [(row["row"], row["line"], row["outcome"], row["reason"], row["retryable"]) for row in found["rows"]] == [
        (1, 2, "unknown", "llm_timeout_outcome_unknown", False),
        (2, 3, "rejected", "invalid_email", False),
        (5, 6, "failed", "llm_overloaded", True),
    ]
    assert all(row["advice"] for row in found["rows"])
    shown = shell.run("failures", ID, "--limit", "2").stdout
    assert "and 1 more" in shown
    assert "not-an-address" not in shown


def test_an_upload_without_failures_says_so(shell: Shell) -> None:
    shell.world.admit(b"name,email\nAda,ada@example.com\n", upload_id=ID)
    assert "has a label so far" in shell.run("failures", ID).stdout


def test_a_retry_shows_its_price_opens_the_rows_and_keeps_the_reason(shell: Shell) -> None:
    row = given_up(shell, 5)
    done(shell, row, *classified(1, 6))
    result = shell.run("retry", ID, "--yes", "--reason", "the provider is well again")
    assert result.exit_code == 0, result.output
    assert "1 failed rows to ask again" in result.stdout
    assert "1 rows are open again" in result.stdout
    upload = shell.world.upload(ID)
    assert upload.state == "running"
    assert upload.reserved_microusd > 0
    assert shell.json("audit", row.key)["decisions"] == [
        {
            "event": "rerun",
            "actor": boto3.client("sts").get_caller_identity()["Arn"],
            "reason": "the provider is well again",
            "at": shell.json("audit", row.key)["decisions"][0]["at"],
        }
    ]


def test_a_retry_of_nothing_is_one_sentence(shell: Shell) -> None:
    done(shell, *classified(1, 5, 6))
    assert "No row of the upload" in shell.refused("retry", ID, "--yes", code=1)
    assert shell.world.upload(ID).state == "done"


def test_a_retry_asks_first(shell: Shell) -> None:
    done(shell, given_up(shell, 5), *classified(1, 6))
    assert shell.run("retry", ID).exit_code == 2
    assert shell.world.upload(ID).state == "done"


def test_an_audit_is_found_by_key_and_by_row(shell: Shell) -> None:
    row = given_up(shell, 5)
    done(shell, row, *classified(1, 6))
    by_key, by_row = shell.json("audit", row.key), shell.json("audit", ID, 5)
    assert by_row["row"] == {"upload_id": ID, "row": 5, "line": 6, "outcome": "failed", "known": False}
    assert {**by_row, "row": None} == by_key
    assert (by_key["state"], by_key["reason"], by_key["requested_by"]) == ("DONE", "llm_overloaded", f"{ID}/5")
    shown = shell.run("audit", ID, 5).stdout
    assert f"row 5, line 6 of {ID}: failed" in shown
    assert "Cleo" not in shown


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("ada@example.com",), 2, "Name a key of 64 hex digits"),
        (("0" * 64,), 1, "Nothing is stored under the key"),
        ((ID, 2), 1, "it was rejected (invalid_email)"),
        ((ID, 99), 1, "the file has 6 records"),
    ],
)
def test_an_audit_of_what_is_not_there_is_one_sentence(
    shell: Shell, arguments: tuple[object, ...], code: int, said: str
) -> None:
    done(shell, *classified(1, 5, 6))
    assert said in shell.refused("audit", *arguments, code=code)


def test_every_command_documents_its_exit_codes(shell: Shell) -> None:
    for command in ("upload", "status", "approve", "resume", "results", "failures", "retry", "audit", "doctor"):
        text = " ".join(shell.run(command, "--help").stdout.split())
        assert "Exit codes: 0 " in text
        assert " 1 " in text
        assert " 2 " in text
