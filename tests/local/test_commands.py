"""The commands against one running local cloud: what an operator sees, does, and is told."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cli.doctor.object_keys import probe
from cli.doctor.patient import Patient
from cli.main import app
from cli.target import find_target
from local.state import State, write_state
from tests.local.leaks import said_by
from tests.local.main_job import HEADER, MainJob, main_job, prospects
from tests.local.toy import wait_for

SCRIPT = [
    {"when": {"contains": "slowly"}, "times": 1, "then": {"text": "hot", "delay_s": 4}},
    {"when": {"contains": "crowded"}, "times": 2, "then": {"status": 529, "type": "overloaded_error"}},
    {"when": {"contains": "vanishing"}, "times": 2, "then": {"drop": "after_reading"}},
    {"when": {"contains": "locked"}, "times": 1, "then": {"status": 401, "type": "authentication_error"}},
]
CEILING = 3_000
"""Micro-dollars for an upload: some 11 rows."""


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MainJob]:
    folder = tmp_path_factory.mktemp("commands")
    settings = {"max_upload_microusd": str(CEILING), "max_receives": "2", "backoff_base_s": "0.1"}
    with main_job(folder, SCRIPT, **settings) as running:
        cloud = running.cloud
        state = State(
            pid=cloud.process_group,
            token=cloud._token,
            folder=folder,
            endpoint=cloud.endpoint,
            stand_in=True,
            outputs=cloud.outputs,
        )
        write_state(state, folder / ".local-cloud" / "state.json")
        yield running


@pytest.fixture(autouse=True)
def _in_its_folder(job: MainJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(job.folder)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def as_json(*arguments: object) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code in {0, 1}, result.output
    return json.loads(result.stdout)


def a_file(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def until(name: str, holds: Callable[[Any], bool]) -> Any:
    """The status of a file as soon as that holds."""
    seen: list[Any] = []

    def look() -> bool:
        seen.append(as_json("status", name))
        return holds(seen[-1])

    wait_for(look, deadline_s=120)
    return seen[-1]


def is_done(status: Any) -> bool:
    return bool(status["state"] == "done")


def test_a_file_is_uploaded_watched_and_then_found_by_its_name(job: MainJob) -> None:
    result = run("upload", a_file("plain.csv", prospects(range(5), group="plain")), "--watch")
    assert result.exit_code == 0, result.output
    assert "5 of 5 valid rows" in result.stdout
    status = as_json("status", "plain.csv")
    assert (status["state"], status["classified"], status["unknown"]) == ("done", 5, 0)
    listed = as_json("status")
    assert status["upload_id"] in [each["upload_id"] for each in listed["finished"]]
    assert listed["finished"][0]["cost_microusd"] > 0


def test_results_can_be_had_while_rows_are_still_open(job: MainJob) -> None:
    text = prospects(range(3), group="fast") + "slow@example.com,Sal,Firm,Buyer,decides slowly\n"
    assert run("upload", a_file("partly.csv", text)).exit_code == 0
    until("partly.csv", lambda status: status.get("ended") == 3)
    found = as_json("results", "partly.csv")
    assert (found["complete"], found["ended"], found["valid"]) == (False, 3, 4)
    rows = rows_of(found["results_csv"])
    assert [row["reason"] for row in rows] == ["", "", "", "open"]
    assert all(row["label"] for row in rows[:3])
    until("partly.csv", is_done)
    final = as_json("results", "partly.csv", "--out", "final.csv")
    assert (final["complete"], [row["label"] for row in rows_of("final.csv")][3]) == (True, "hot")


def rows_of(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_failure_says_what_to_do_and_a_retry_mends_it(job: MainJob) -> None:
    text = prospects(range(2), group="calm") + "busy@example.com,Bo,Firm,Buyer,a crowded market\n,Nobody,,,\n"
    assert run("upload", a_file("failing.csv", text), "--watch").exit_code == 0
    failing = as_json("failures", "failing.csv")
    assert (failing["failed"], failing["unknown"], failing["rejected"]) == (1, 0, 1)
    [failed, rejected] = failing["rows"]
    assert (failed["row"], failed["line"], failed["reason"], failed["retryable"]) == (3, 4, "llm_overloaded", True)
    assert (rejected["row"], rejected["reason"]) == (4, "missing_email")
    assert failed["advice"]
    assert "Bo" not in run("failures", "failing.csv").stdout
    before = job.requests
    assert run("retry", "failing.csv").exit_code == 2
    assert run("retry", "failing.csv", "--yes", "--reason", "it is quiet now").exit_code == 0
    status = until("failing.csv", is_done)
    assert (status["classified"], status["failed"], job.requests - before) == (3, 0, 1)
    audit = as_json("audit", "failing.csv", 3)
    assert (audit["label"] in {"hot", "warm", "cold"}, audit["paid_attempts"]) == (True, 1)
    assert [decision["reason"] for decision in audit["decisions"]] == ["it is quiet now"]
    assert audit["decisions"][0]["actor"].startswith("local:")


def test_what_is_unknown_is_listed_and_settled_row_by_row(job: MainJob) -> None:
    before = job.requests
    text = prospects(range(2), group="steady") + "".join(
        f"gone{n}@example.com,Gil {n},Firm,Buyer,a vanishing interest {n}\n" for n in range(2)
    )
    assert run("upload", a_file("doubtful.csv", text), "--watch").exit_code == 0
    listed = as_json("unknown", "list", "--upload", "doubtful.csv")
    assert [(row["row"], row["state"], row["attempts"]) for row in listed["rows"]] == [
        (3, "unknown", 1),
        (4, "unknown", 1),
    ]
    assert all(row["at_most_microusd"] > 0 for row in listed["rows"])
    assert run("unknown", "resolve", "doubtful.csv", 3, "--as", "rerun", "--reason", "no trace").exit_code == 2
    again = as_json("unknown", "resolve", "doubtful.csv", 3, "--as", "rerun", "--reason", "no trace", "--yes")
    assert (again["settled"], again["opened"], again["reserved_microusd"] > 0) == (1, 1, True)
    until("doubtful.csv", lambda status: is_done(status) and status["classified"] == 3)
    lost = ("unknown", "resolve", listed["rows"][1]["key"], "--as", "billed", "--reason", "invoice 7", "--yes")
    assert as_json(*lost)["opened"] == 0
    status = until("doubtful.csv", lambda status: is_done(status) and status["unknown"] == 0)
    assert (status["classified"], status["failed"], job.requests - before) == (3, 1, 5)
    audit = as_json("audit", "doubtful.csv", 4)
    assert (audit["reason"], audit["paid_attempts"], audit["model"]) == ("answer_lost", 1, "claude-haiku-5-5")
    assert audit["decisions"][0]["actor"].startswith("local:")
    assert as_json("results", "doubtful.csv", "--out", "doubtful-results.csv")["complete"]
    assert [row["reason"] for row in rows_of("doubtful-results.csv")] == ["", "", "", "answer_lost"]


def test_an_upload_over_the_ceiling_waits_shows_its_price_and_runs_when_approved(job: MainJob) -> None:
    before = job.requests
    result = run("upload", a_file("large.csv", prospects(range(15), group="large")), "--watch")
    assert result.exit_code == 1, result.output
    assert "needs approval" in result.stdout
    upload_id = as_json("status", "large.csv")["upload_id"]
    assert [each["upload_id"] for each in as_json("status")["open"]] == [upload_id]
    assert run("approve", upload_id).exit_code == 2
    assert job.requests == before
    approved = run("approve", upload_id[:10], "--yes")
    assert approved.exit_code == 0, approved.output
    assert "15 rows to ask the model, 0 known" in approved.stdout
    assert "are left of today's (UTC)" in approved.stdout
    until("large.csv", is_done)
    assert job.requests - before == 15
    assert run("approve", upload_id, "--yes").exit_code == 1


def test_a_wrong_key_pauses_tells_once_and_resume_goes_on_without_paying_twice(job: MainJob) -> None:
    before = job.requests
    result = run("upload", a_file("paused.csv", prospects(range(6), "a locked door", group="locked")), "--watch")
    assert result.exit_code == 1, result.output
    assert "paused (llm_key_refused)" in result.stdout
    status = as_json("status", "paused.csv")

    def told() -> list[Any]:
        return [each for each in as_json("local", "outbox")["notices"] if status["upload_id"] in each["text"]]

    wait_for(lambda: bool(told()), deadline_s=20)
    assert run("resume", "paused.csv").exit_code == 0
    done = until("paused.csv", is_done)
    assert (done["classified"], done["failed"], done["unknown"]) == (6, 0, 0)
    # One request was refused, unbilled; each row was answered once.
    assert job.requests - before == 7
    wait_for(lambda: len(told()) == 2, deadline_s=20)
    assert "done" in told()[1]["subject"].casefold()


def test_an_audit_names_model_input_and_attempts_but_nobody(job: MainJob) -> None:
    assert (
        run("upload", a_file("audited.csv", HEADER + "ann@example.com,Ann,Firm,Buyer,note\n"), "--watch").exit_code == 0
    )
    audit = as_json("audit", "audited.csv", 1)
    assert (audit["state"], audit["model"], audit["attempts"], audit["paid_attempts"]) == (
        "DONE",
        "claude-haiku-5-5",
        1,
        1,
    )
    assert len(audit["input_digest"]) == 64
    assert as_json("audit", audit["key"]) == audit | {"row": None}
    assert "ann@" not in json.dumps(audit)


def test_a_refused_file_is_in_the_outbox_and_its_status_says_why(job: MainJob) -> None:
    result = run("upload", a_file("refused.csv", "email,email,name\na@example.com,b@example.com,A\n"), "--watch")
    assert result.exit_code == 1
    assert "duplicate_header" in result.stdout
    wait_for(
        lambda: any("refused.csv" in each["text"] for each in as_json("local", "outbox")["notices"]), deadline_s=20
    )


def test_the_doctor_runs_here_and_says_which_checks_mean_nothing(job: MainJob) -> None:
    found = {each["check"]: each["state"] for each in as_json("doctor")["checks"]}
    # The retried row of another test may lie in the dead-letter queue, and ring.
    assert {found.pop("dead_letters"), found.pop("alarms")} <= {"ok", "problem"}
    assert {name for name, state in found.items() if state == "ok"} == {
        *("bus", "subscriber", "bucket_events", "redrive", "secret"),
    }
    assert set(found.values()) == {"ok", "not_meaningful"}


def test_the_probe_of_object_keys_reaches_intake_and_costs_nothing(job: MainJob) -> None:
    before = job.requests
    patient = Patient(find_target(None, None, local=True, aws=False))
    assert probe(patient, patience_s=20).state == "ok"
    assert job.requests == before
    bucket = job.cloud.outputs["UploadsBucketName"]
    left = job.cloud.client("s3").list_objects_v2(Bucket=bucket, Prefix="uploads/doctor/")
    assert left.get("KeyCount", 0) == 0


def test_whatever_was_ordered_no_row_and_no_files_name_is_said(job: MainJob) -> None:
    header_is_a_person = "ann.poole@example.com,Ann Poole\nben.hale@example.com,Ben Hale\n"
    assert run("upload", a_file("Ann Poole.csv", header_is_a_person), "--watch").exit_code == 1
    said = said_by(job.cloud)
    assert "missing_columns" in said or "malformed_header" in said, "why it was refused is said"
    assert [name for name in ("Ann Poole", "paused.csv", "doubtful.csv", "failing.csv") if name in said] == []
    told = "".join(notice.subject + notice.text for notice in job.cloud.outbox())
    assert [text for text in ("@example.com", "Gil ", "Ben Hale") if text in said + told] == []
