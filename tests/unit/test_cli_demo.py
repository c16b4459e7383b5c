"""The demonstration shows the numbers of the promise, and fails when one of them does not hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from moto import mock_aws
from typer.testing import CliRunner, Result

from cli import local_commands
from cli.main import app
from tests.unit.cli_world import FakeCloud, a_file


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCloud]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        fake = FakeCloud()
        monkeypatch.setattr(local_commands, "LocalCloud", fake)
        yield fake


def invoke(path: Path) -> Result:
    return CliRunner().invoke(app, ["local", "demo", str(path), "--out", str(path.parent / "out")])


def test_the_demo_shows_every_outcome_and_that_the_second_upload_costs_nothing(
    cloud: FakeCloud, tmp_path: Path
) -> None:
    result = invoke(a_file(tmp_path))
    assert result.exit_code == 0
    for shown in (
        "records 6 = 3 valid + 1 rejected + 1 duplicate + 1 blank",
        "Model requests: 3",
        "0 further model requests; 3 of 3 valid rows known",
        "✓ 3 model requests for 3 distinct valid rows",
        "✓ 0 further model requests for the same file",
    ):
        assert shown in result.stdout
    assert "✗" not in result.stdout


def test_a_request_too_many_is_shown_and_fails_the_demo(
    cloud: FakeCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receive = cloud.receive

    def paying_again(key: str, body: bytes) -> str:
        version = receive(key, body)
        assert cloud.model_requests is not None
        cloud.model_requests += 1
        return version

    monkeypatch.setattr(cloud, "receive", paying_again)
    result = invoke(a_file(tmp_path))
    assert result.exit_code == 1
    assert "✗ 4 model requests for 3 distinct valid rows" in result.stdout
    assert "✗ 1 further model requests for the same file" in result.stdout


def test_the_demo_of_a_refused_file_is_its_sentence_and_exit_1(cloud: FakeCloud, tmp_path: Path) -> None:
    result = invoke(a_file(tmp_path, body="name,email\n"))
    assert result.exit_code == 1
    assert "refused" in result.stdout
    assert "Model requests: 0" in result.stdout
    assert "same file again" not in result.stdout


def test_without_the_stand_in_the_demo_claims_no_number_of_requests(cloud: FakeCloud, tmp_path: Path) -> None:
    cloud.model_requests = None
    result = invoke(a_file(tmp_path))
    assert result.exit_code == 0
    assert "model requests for" not in result.stdout
    assert "✓ the same outcomes the second time, all of them known, at no cost" in result.stdout
