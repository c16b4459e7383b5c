from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.local.toy import Toy, served


@pytest.fixture(scope="module")
def toy() -> Iterator[Toy]:
    with served(tick_s=0.2, async_retry_s=0.05, bus_backoff_s=0.02) as running:
        yield running
