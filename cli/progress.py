"""What is shown while something works: a spinner and a bar at a terminal, plain lines elsewhere; always on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, Task, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.progress_bar import ProgressBar
from rich.text import Text

from cli.uploading import Standing
from functions.text import one_line

PLAIN_EVERY_S = 2.0
"""A plain line about rows is written at most this often, besides the first and the last."""


class Watched(Protocol):
    """One file that is waited for."""

    def update(self, standing: Standing) -> None: ...


class Progress(Protocol):
    """Where a command says what it is doing."""

    def stage(self, text: str) -> None:
        """A step has begun, such as deploying; it lasts until the next."""

    def note(self, text: str) -> None:
        """Something to know that stays on the screen."""

    def file(self, name: str) -> AbstractContextManager[Watched]:
        """A file is waited for while this is open."""


@contextmanager
def progress_on(console: Console) -> Iterator[Progress]:
    """The progress that suits the console (stderr): it ends, and the terminal is itself again, when this closes."""
    if not console.is_terminal:
        yield PlainProgress(console)
        return
    progress = BarProgress(console)
    try:
        yield progress
    finally:
        progress.end()


def doing(standing: Standing) -> str:
    """What is going on with a file, in a few words."""
    if standing.item is None:
        return "waiting for its event"
    if standing.item.refusal is not None:
        return "refused"
    if standing.upload is None:
        return "reading and pricing"
    return {
        "running": "writing the results" if standing.terminal == standing.upload.counts.valid else "classifying",
        "needs_approval": "waiting for approval",
        "paused": "paused",
    }.get(standing.upload.state, standing.upload.state)


class PlainProgress:
    """Lines without any control character, for logs and pipes."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console = console
        self._clock = clock

    def stage(self, text: str) -> None:
        self._line(text)

    def note(self, text: str) -> None:
        self._line(text)

    @contextmanager
    def file(self, name: str) -> Iterator[Watched]:
        yield _PlainFile(one_line(name), self._line, self._clock)

    def _line(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


class _PlainFile:
    def __init__(self, name: str, line: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._name = name
        self._line = line
        self._clock = clock
        self._last = ("", float("-inf"))

    def update(self, standing: Standing) -> None:
        what, now = doing(standing), self._clock()
        if what == self._last[0] and now - self._last[1] < PLAIN_EVERY_S:
            return
        self._last = (what, now)
        rows = f", {standing.terminal} of {standing.upload.counts.valid} rows" if standing.upload else ""
        self._line(f"{self._name}: {what}{rows}")


class BarProgress:
    """A line that spins for a stage, or has a bar for a file; gone when that is over, so that others may print then."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bars: Bars | None = None

    def stage(self, text: str) -> None:
        self._begin(text)

    def note(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def file(self, name: str) -> Iterator[Watched]:
        bars, task = self._begin(name)
        try:
            yield _BarFile(bars, task, one_line(name))
        finally:
            self.end()

    def end(self) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None

    def _begin(self, text: str) -> tuple[Bars, TaskID]:
        self.end()
        columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), _RowsBar(), _RowsDone())
        self._bars = Bars(*columns, TimeElapsedColumn(), console=self._console, transient=True)
        task = self._bars.add_task(one_line(text), total=None)
        self._bars.start()
        return self._bars, task


class _RowsBar(BarColumn):
    """A bar once it is known how many rows there are."""

    def render(self, task: Task) -> ProgressBar | Text:  # type: ignore[override]
        return Text() if task.total is None else super().render(task)


class _RowsDone(MofNCompleteColumn):
    def render(self, task: Task) -> Text:
        return Text() if task.total is None else super().render(task).append(" rows")


class _BarFile:
    def __init__(self, bars: Bars, task: TaskID, name: str) -> None:
        self._bars = bars
        self._task = task
        self._name = name

    def update(self, standing: Standing) -> None:
        total = standing.upload.counts.valid if standing.upload else None
        description = f"{self._name}: {doing(standing)}"
        self._bars.update(self._task, description=description, completed=standing.terminal, total=total)
