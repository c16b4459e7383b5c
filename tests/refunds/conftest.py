"""A deployment of the refund tool on moto."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from moto import mock_aws

from .world import Aws, World


@pytest.fixture(scope="module")
def aws() -> Iterator[Aws]:
    # No longer than the module: moto forgets nothing of an inner mock while an outer one is open.
    with pytest.MonkeyPatch.context() as environment, mock_aws():
        environment.setenv("AWS_ACCESS_KEY_ID", "testing")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        yield Aws()


@pytest.fixture
def world(aws: Aws) -> World:
    return World(aws)
