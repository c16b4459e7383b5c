"""A deployment of the refund tool on moto."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from moto import mock_aws

from .world import World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield World()
