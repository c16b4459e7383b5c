"""The doctor's two experiments: the probe of object keys, and one request to the model for money."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.doctor import model, object_keys
from cli.doctor.patient import Patient
from cli.doctor.report import Finding
from cli.target import find_target
from functions.classify.billing import Answer, NoAnswer, anthropic_error
from tests.unit.cli_world import Shell, on_aws
from tests.unit.finish_world import BUCKET

MESSAGE = {
    "type": "message",
    "model": "claude-haiku-5-5",
    "content": [{"type": "text", "text": "cold"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 100, "output_tokens": 4},
}
REFUSED = json.dumps({"type": "error", "error": {"type": "authentication_error", "message": "no"}}).encode()


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Shell]:
    with on_aws(monkeypatch, tmp_path) as found:
        found.deploy()
        found.settings(model_id="claude-haiku-5-5", anthropic_secret_id="the-secret")
        yield found


def patient(**options: Any) -> Patient:
    return Patient(find_target(None, None, local=False, aws=True), **options)


def probed(shell: Shell, arrives: Callable[[str, str], None]) -> Finding:
    """The finding when `arrives` is told key and version of the probe while it waits."""
    told: list[tuple[str, str]] = []
    now = iter(range(1000))

    def sleep(_: float) -> None:
        if not told:
            [version] = shell.world.s3.list_object_versions(Bucket=BUCKET)["Versions"]
            assert version["Size"] == 0
            told.append((version["Key"], version["VersionId"]))
            arrives(*told[0])

    return object_keys.probe(patient(), patience_s=20, clock=lambda: float(next(now)), sleep=sleep)


def refused_as(shell: Shell, code: str, spelled: Callable[[str], str] = str) -> Callable[[str, str], None]:
    def arrives(key: str, version: str) -> None:
        shell.world.table.begin_object(spelled(key), version, 0)
        shell.world.table.refuse_object(spelled(key), version, code, "A sentence.")

    return arrives


def test_a_key_that_arrives_as_it_is_is_ok_and_the_probe_is_taken_away(shell: Shell) -> None:
    finding = probed(shell, refused_as(shell, "empty_file"))
    assert finding.state == "ok"
    assert "Versions" not in shell.world.s3.list_object_versions(Bucket=BUCKET)


def test_the_probe_can_never_be_billed(shell: Shell) -> None:
    keys: list[str] = []
    probed(shell, lambda key, _: keys.append(key))
    [key] = keys
    assert key.startswith("uploads/doctor/")
    assert key.endswith(".csv")
    assert all(character in key for character in " +é")


@pytest.mark.parametrize(
    ("spelled", "said"),
    [(object_keys.quote_plus, "form-encoded"), (object_keys.quote, "percent-encoded")],
)
def test_a_key_that_arrives_encoded_is_a_problem(shell: Shell, spelled: Callable[..., str], said: str) -> None:
    finding = probed(shell, refused_as(shell, "object_gone", lambda key: spelled(key, safe="/")))
    assert finding.state == "problem"
    assert said in finding.found


def test_a_probe_that_never_arrives_is_a_problem_and_taken_away(shell: Shell) -> None:
    finding = probed(shell, lambda *_: None)
    assert "within 20 s" in finding.found
    assert "intake-rule-dlq" in finding.todo
    assert "Versions" not in shell.world.s3.list_object_versions(Bucket=BUCKET)


@pytest.mark.parametrize(
    ("answer", "state", "said"),
    [
        (Answer(200, json.dumps(MESSAGE).encode()), "ok", "that cost 0.000012 USD"),
        (Answer(200, b"<html>"), "problem", "not the Messages API"),
        (Answer(401, REFUSED, error=anthropic_error(REFUSED)), "problem", "llm_key_refused (status 401)"),
        (NoAnswer("not_connected"), "unknown", "llm_connect_failed (no answer)"),
        (Answer(500, b""), "unknown", "status 500"),
    ],
)
def test_the_model_is_asked_once_and_only_with_spend(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, answer: Answer | NoAnswer, state: str, said: str
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(model, "_ask", lambda *arguments: asked.append(arguments) or answer)
    assert model.model_answers(patient()).state == "unknown"
    assert asked == []
    finding = model.model_answers(patient(spend=True))
    assert (finding.state, len(asked)) == (state, 1)
    assert said in finding.found
