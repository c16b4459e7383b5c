"""Properties are explored the same way on every run; `--hypothesis-profile explore` looks further, at random.

What the crash points, schedules and interleavings came to is counted, and said at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from aws_lambda_powertools import Metrics
from hypothesis import settings

from tests.effects import explored

# No deadline: these machines are shared, and a slow moment is not a wrong answer.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("explore", max_examples=2_000, deadline=None)
settings.load_profile("same")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--explore",
        dest="explore",
        choices=["ends", "all"],
        default="ends",
        help="at which arrivals at a crash point a schedule begins: the first and the last, or all of every scenario",
    )


@pytest.fixture(autouse=True)
def _nothing_counted_before() -> Iterator[None]:
    # Powertools keeps what is counted on the class until it is written, which a test of one part never does.
    yield
    Metrics(namespace="Tests", service="tests").clear_metrics()


def pytest_sessionfinish(session: pytest.Session) -> None:
    explored.hand_over(session)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """A process of pytest-xdist has ended."""
    explored.take_over(getattr(node, "workeroutput", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in explored.told():
        terminalreporter.write_line(line)
