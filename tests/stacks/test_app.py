"""`python app.py` as a newcomer runs it: offline, without an account, and with a sentence where it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from stacks.bundle import Bundler
from stacks.dependencies import BundleError
from stacks.deployment import add_stacks
from tests.stacks.templates import ROOT, Templates, settings_of

from aws_cdk import App  # isort: skip -- after stacks, which chooses the Node that runs it

NOWHERE = "http://127.0.0.1:9"


def run_app(outdir: Path, context: Mapping[str, object]) -> subprocess.CompletedProcess[str]:
    """With no credentials, no Region and no way out."""
    environment = {
        # jsii keeps what it unpacked under the home folder.
        **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
        "HTTP_PROXY": NOWHERE,
        "HTTPS_PROXY": NOWHERE,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "CDK_OUTDIR": str(outdir),
        "CDK_CONTEXT_JSON": json.dumps(context),
    }
    return subprocess.run(
        [sys.executable, "app.py"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_it_synthesizes_offline_without_an_account_and_says_that_the_code_is_alone(tmp_path: Path) -> None:
    done = run_app(tmp_path, {})
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if "without their dependencies" in line]
    assert {resource.stack for resource in Templates.read(tmp_path).resources} == {
        "ProspectUploaderStorage",
        "ProspectUploaderMessaging",
        "ProspectUploaderClassification",
        "ProspectUploaderRefund",
        "ProspectUploaderObservability",
    }
    assert json.loads((tmp_path / "validation-report.json").read_text())["pluginReports"] == []


def test_it_refuses_a_wrong_setting_in_one_sentence_and_without_a_traceback(tmp_path: Path) -> None:
    done = run_app(tmp_path, {"max_paid_attempts": "0"})
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "setting max_paid_attempts: '0' was given; it must be a whole number from 1 to 5.\n"


def test_without_the_cdk_cli_it_refuses_a_setting_that_there_is_not(tmp_path: Path) -> None:
    done = run_app(tmp_path, {"ceiling": "5"})
    assert done.returncode == 1
    assert done.stderr == "setting ceiling: there is no such setting; stacks/settings.py has all of them.\n"


def test_a_bundle_that_cannot_be_built_is_told_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "empty"))
    app = App(outdir=str(tmp_path / "cdk.out"))
    with pytest.raises(
        BundleError, match=r"uv could not install requirements.txt for Lambda .* index must be reachable"
    ):
        add_stacks(app, settings_of(), Bundler(with_dependencies=True))


def test_the_cli_is_told_to_run_it_with_the_virtual_environment_of_the_project() -> None:
    config = json.loads((ROOT / "cdk.json").read_text())
    assert config["app"] == ".venv/bin/python app.py"
