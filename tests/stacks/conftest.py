"""One synth a session and setting, shared by every test that only reads templates."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stacks.bundle import PACKAGE
from tests.calls import Source
from tests.stacks.templates import Templates, synthesize


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "package_index: installs from the package index, or from uv's cache of it")


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`functions/` as it was when the tests began: what is bundled and what is read stay the same while one edits."""
    copied = tmp_path_factory.mktemp("snapshot") / PACKAGE.name
    shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
    return copied


@pytest.fixture(scope="session")
def source(package: Path) -> Source:
    return Source(package)


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory, package: Path) -> Templates:
    """With every setting at its default and no Region."""
    return synthesize(tmp_path_factory.mktemp("default"), package)


@pytest.fixture(scope="session")
def other_templates(tmp_path_factory: pytest.TempPathFactory, package: Path) -> Templates:
    """With every choice the other way: a Region, an address, ephemeral, Bedrock through an inference profile."""
    return synthesize(
        tmp_path_factory.mktemp("other"),
        package,
        name="Trial",
        region="eu-west-1",
        account="123456789012",
        alert_email="ops@example.com",
        ephemeral="true",
        model_provider="bedrock",
        model_id="eu.anthropic.claude-haiku-5-5",
        requests_in_flight=5,
        classify_timeout_s="45",
        max_receives=3,
        tick_s=120,
    )


@pytest.fixture(scope="session", params=["templates", "other_templates"])
def each_templates(request: pytest.FixtureRequest) -> Templates:
    """Both, one after the other: for what holds whatever the settings are."""
    found: Templates = request.getfixturevalue(request.param)
    return found
