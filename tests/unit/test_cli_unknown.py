"""`prospects unknown list` and `resolve` on stored uploads: what is shown, asked, refused and printed as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from cli import asking
from functions.classify.prices import worst_case_microusd
from functions.effects.outcomes import Outcome
from functions.effects.states import State
from functions.finish.summary import usd
from functions.uploads.model import RowItem
from tests.unit.cli_world import Shell, on_aws
from tests.unit.finish_world import TASK, a_row

ID = "u-0123456789abcdef01234567"
PRICE = worst_case_microusd(TASK, {"name": "Cleo Moor", "email": "cleo@example.com", "notes": "two\nlines"})
TIMED_OUT = Outcome.unknown("llm_timeout_outcome_unknown", model="m", at_most_microusd=PRICE)
KILLED = Outcome.unknown("lease_expired_outcome_unknown")
WHY = ("--reason", "no such request in the usage")


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    with on_aws(monkeypatch, tmp_path) as found:
        found.deploy()
        found.settings(max_paid_attempts=1, max_day_microusd=50_000_000, outcome_retention_days=400)
        yield found


def unknown(shell: Shell, number: int, outcome: Outcome = TIMED_OUT) -> RowItem:
    shell.world.store(
        number, State.UNKNOWN, outcome, origin=f"{ID}/{number}", paid_attempts=1, finished_at=1_800_000_000
    )
    return a_row(
        number, "unknown", upload_id=ID, key=shell.world.key(number), reason=outcome.reason, attempt=1, cost_microusd=0
    )


def done(shell: Shell, *outcomes: Outcome) -> None:
    """A finished upload of three valid rows, 5 and 6 of which may be unknown."""
    shell.world.admit(upload_id=ID)
    rows = {number: unknown(shell, number, outcome) for number, outcome in zip((5, 6), outcomes, strict=False)}
    shell.world.end_rows(*(rows.get(number) or a_row(number, upload_id=ID) for number in (1, 5, 6)))
    shell.world.tick()
    assert shell.world.upload(ID).state == "done"


def key_of(shell: Shell, number: int = 5) -> str:
    return shell.world.key(number)


def test_the_list_says_which_row_why_since_when_and_what_it_may_have_cost(shell: Shell) -> None:
    done(shell, TIMED_OUT, KILLED)
    found = shell.json("unknown", "list")
    assert list(found) == ["unknown", "rows"]
    first, second = found["rows"]
    assert list(first) == [
        "key", "upload_id", "row", "line", "state", "reason", "since", "attempts", "at_most_microusd", "advice",
    ]  # fmt: skip
    assert (first["key"], first["upload_id"], first["row"], first["line"]) == (key_of(shell), ID, 5, 6)
    assert (first["state"], first["reason"], first["attempts"]) == ("unknown", "llm_timeout_outcome_unknown", 1)
    assert (first["since"], first["at_most_microusd"]) == ("2027-01-15T08:00:00Z", PRICE)
    assert "prospects unknown resolve" in first["advice"]
    assert second["at_most_microusd"] > 0, "what a kill left untold is told by the file"
    shown = shell.run("unknown", "list", "--upload", ID[:8]).stdout
    assert "llm_timeout_outcome_unknown: A request may have been billed" in shown
    assert usd(PRICE) in shown
    assert "Cleo" not in shown


def test_without_the_file_the_list_leaves_open_what_only_it_could_tell(shell: Shell) -> None:
    done(shell, TIMED_OUT, KILLED)
    upload = shell.world.upload(ID)
    shell.world.s3.delete_object(Bucket=upload.bucket, Key=upload.object_key, VersionId=upload.version_id)
    assert [row["at_most_microusd"] for row in shell.json("unknown", "list")["rows"]] == [PRICE, None]
    assert "not kept any more" in shell.refused("unknown", "resolve", ID, 5, "--as", "rerun", *WHY, "--yes", code=1)
    assert shell.json("unknown", "resolve", ID, 5, "--as", "billed", *WHY, "--yes")["settled"] == 1


def test_where_nothing_is_unknown_it_says_so(shell: Shell) -> None:
    done(shell)
    assert "No row is unknown" in shell.run("unknown", "list").stdout
    assert shell.json("unknown", "list") == {"unknown": 0, "rows": []}


@pytest.mark.parametrize(("spelling", "decision"), [("key", "not-billed"), ("record", "rerun"), ("row", "billed")])
def test_a_row_is_settled_by_key_by_the_id_of_its_record_and_by_its_place(
    shell: Shell, spelling: str, decision: str
) -> None:
    done(shell, TIMED_OUT)
    key = key_of(shell)
    named = {"key": (key,), "record": (f"{TASK.name}:{key}",), "row": (ID[:8], 5)}[spelling]
    found = shell.json("unknown", "resolve", *named, "--as", decision, *WHY, "--yes")
    asks = decision != "billed"
    assert found == {
        "upload_id": ID,
        "as": decision,
        "settled": 1,
        "moved_on": 0,
        "opened": int(asks),
        "reserved_microusd": PRICE if asks else 0,
    }
    assert shell.world.upload(ID).state == ("running" if asks else "done")
    [kept] = shell.json("audit", f"{TASK.name}:{key}")["decisions"]
    assert kept["actor"] == boto3.client("sts").get_caller_identity()["Arn"]
    assert kept["reason"] == WHY[1]


def test_what_was_billed_is_forgotten_when_the_deployed_retention_says(shell: Shell) -> None:
    shell.settings(outcome_retention_days=7)
    done(shell, TIMED_OUT)
    shell.run("unknown", "resolve", ID, 5, "--as", "billed", *WHY, "--yes")
    [item] = shell.world.idempotency.scan()["Items"]
    assert int(item["expiration"]) - int(item["finished_at"]) == 7 * 86_400


def test_all_of_an_upload_is_asked_about_once_with_its_number_and_price(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "at_terminal", lambda: True)
    done(shell, TIMED_OUT, TIMED_OUT)
    order = ("unknown", "resolve", "--all", "--upload", ID, "--as", "rerun", *WHY)
    refused = shell.run(*order, input="n\n")
    assert refused.exit_code == 1
    assert shell.world.upload(ID).state == "done"
    result = shell.run(*order, input="y\n")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("[y/N]") == 1
    for shown in ("2 rows of", "worst case  ", "are left of today's (UTC)", "on top of what was billed already"):
        assert shown in result.stdout
    assert "2 rows allowed one more attempt." in result.stdout
    assert shell.world.upload(ID).state == "running"


def test_with_json_the_question_is_not_on_stdout(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "at_terminal", lambda: True)
    done(shell, TIMED_OUT)
    result = shell.run("unknown", "resolve", ID, 5, "--as", "billed", *WHY, "--json", input="y\n")
    assert result.exit_code == 0
    assert result.stdout.startswith('{"upload_id"')
    assert "[y/N]" in result.stderr


@pytest.mark.parametrize(
    ("decision", "said"), [("rerun", "This may cost money"), ("billed", "This cannot be taken back")]
)
def test_where_nobody_can_be_asked_nothing_is_decided_without_yes(shell: Shell, decision: str, said: str) -> None:
    done(shell, TIMED_OUT)
    result = shell.run("unknown", "resolve", ID, 5, "--as", decision, *WHY)
    assert (result.exit_code, result.stderr.splitlines()) == (
        2,
        [f"{said} and nobody can be asked here, so nothing was changed; repeat the command with --yes."],
    )
    assert shell.json("unknown", "list")["rows"][0]["state"] == "unknown"


REFUSED: list[tuple[tuple[object, ...], int, str]] = [
    (("ada@example.com", "--as", "rerun", *WHY), 2, "Name a key of 64 hex digits"),
    ((ID, "--as", "rerun", *WHY), 2, "Name a key of 64 hex digits"),
    (("--as", "rerun", *WHY), 2, "Name a key, an upload and a row, or all of an upload"),
    (("--all", "--as", "rerun", *WHY), 2, "Name a key, an upload and a row, or all of an upload"),
    ((ID, "--all", "--upload", ID, "--as", "rerun", *WHY), 2, "Name a key, an upload and a row, or all"),
    ((ID, 5, "--as", "paid", *WHY), 2, "Say what is known with --as: billed, not-billed or rerun"),
    ((ID, 5, *WHY), 2, "Say what is known with --as"),
    ((ID, 5, "--as", "rerun"), 2, "Say why with --reason"),
    ((ID, 5, "--as", "rerun", "--reason", " "), 2, "Say why with --reason"),
    ((ID, 5, "--as", "rerun", "--reason", "x" * 501), 2, "The reason has 501 characters; 500 are kept."),
    ((ID, 5, "--as", "rerun", "--reason", "a\nb"), 2, "The reason holds characters that cannot be printed"),
    ((ID, 5, "--as", "rerun", "--reason", "\udcff"), 2, "The reason holds characters that cannot be printed"),
    (("0" * 64, "--as", "billed", *WHY), 1, "Nothing is stored under the key"),
    ((ID, 1, "--as", "billed", *WHY), 1, "Row 1 of the upload " + ID + " is classified, not unknown"),
    ((ID, 2, "--as", "billed", *WHY), 1, "has not ended, or is no valid record"),
    (("u-ffffffffffffffffffffffff", 1, "--as", "billed", *WHY), 1, "There is no upload"),
]


def test_what_cannot_be_settled_is_one_sentence_and_changes_nothing(shell: Shell) -> None:
    done(shell, TIMED_OUT)
    before = shell.world.idempotency.scan()["Items"], shell.world.raw_table.scan()["Items"]
    for arguments, code, said in REFUSED:
        assert said in shell.refused("unknown", "resolve", *arguments, "--yes", code=code)
    assert (shell.world.idempotency.scan()["Items"], shell.world.raw_table.scan()["Items"]) == before


def test_the_reason_of_a_retry_is_looked_at_as_well(shell: Shell) -> None:
    done(shell, TIMED_OUT)
    assert "cannot be printed" in shell.refused("retry", ID, "--yes", "--reason", "\udcff")


def test_a_row_that_was_decided_is_told_as_what_it_is_now(shell: Shell) -> None:
    done(shell, TIMED_OUT, TIMED_OUT)
    shell.run("unknown", "resolve", ID, 5, "--as", "rerun", *WHY, "--yes")
    shell.run("unknown", "resolve", ID, 6, "--as", "billed", *WHY, "--yes")
    assert shell.json("unknown", "list") == {"unknown": 0, "rows": []}
    assert "is being asked again" in shell.refused("unknown", "resolve", ID, 5, "--as", "billed", *WHY, "--yes", code=1)
    assert "answer_lost" in shell.refused("unknown", "resolve", ID, 6, "--as", "rerun", *WHY, "--yes", code=1)


def test_both_document_their_exit_codes(shell: Shell) -> None:
    for command in ("list", "resolve"):
        text = " ".join(shell.run("unknown", command, "--help").stdout.split())
        assert all(code in text for code in ("Exit codes: 0 ", " 1 ", " 2 "))
