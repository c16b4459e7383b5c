"""A local cloud with the project's own stacks, and files run through it as the command does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

from cli.inputs import InputFile
from cli.progress import PlainProgress
from cli.reports import FileReport
from cli.running import Runner
from local.cloud import LocalCloud
from local.options import LocalCloudOptions

HEADER = "email,name,company,title,notes\n"


def prospects(numbers: Sequence[int], notes: str = "wants a demo", group: str = "p") -> str:
    """One row a number; every prospect is somebody else, and another somebody in every group."""
    return HEADER + "".join(f"{group}{n}@example.com,Pat {n},Firm {n},Buyer,{notes} {n}\n" for n in numbers)


class MainJob:
    """Runs files in a folder of its own; `requests` tells what a run added to the stand-in's count."""

    def __init__(self, cloud: LocalCloud, folder: Path) -> None:
        self.cloud = cloud
        self.folder = folder
        self.told = StringIO()
        self._runner = Runner(cloud, PlainProgress(Console(file=self.told)), folder / "results", patience_s=90)

    def run(self, content: str | bytes | Path, name: str = "leads.csv") -> FileReport:
        return self._runner.run_file(self._file(content, name))

    def _file(self, content: str | bytes | Path, name: str) -> InputFile:
        if isinstance(content, Path):
            return InputFile(str(content), content)
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return InputFile(str(path), path)

    def counted(self, content: str | bytes | Path, name: str = "leads.csv") -> tuple[FileReport, int]:
        """The report, and the requests this run made."""
        before = self.requests
        report = self.run(content, name)
        return report, self.requests - before

    @property
    def requests(self) -> int:
        counted = self.cloud.model_requests
        assert counted is not None
        return counted

    def outcomes(self, report: FileReport) -> list[tuple[str, str, str]]:
        return [(row.outcome, row.label, row.reason) for row in report.rows]


@contextmanager
def main_job(folder: Path, script: Sequence[Any] = (), **context: str) -> Iterator[MainJob]:
    """`script` is the stand-in's; `context` overrides settings of the stacks."""
    path = None
    if script:
        path = folder / "script.json"
        path.write_text(json.dumps(script))
    with LocalCloud(LocalCloudOptions(claude_script=path, context=context)) as cloud:
        yield MainJob(cloud, folder)
