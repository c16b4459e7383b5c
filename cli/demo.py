"""The demonstration: a file is uploaded twice, and the numbers of the promise are checked in front of the reader."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console

from cli.inputs import InputFile
from cli.render import show_file, show_run
from cli.reports import FileReport, RunReport
from cli.running import Runner


@dataclass(frozen=True, slots=True)
class Check:
    """One number of the promise, as a sentence with the numbers that were measured."""

    held: bool
    sentence: str


class Demo:
    """Uploads a file and then the same bytes again. `answered_by` names what gives the labels."""

    def __init__(self, runner: Runner, console: Console, answered_by: str) -> None:
        self._runner = runner
        self._console = console
        self._answered_by = answered_by

    def show(self, file: InputFile) -> bool:
        """Whether every promise that was checked held; a refused file ends here, with its sentence and False."""
        first = self._runner.report([self._runner.run_file(file)])
        show_run(self._console, first, self._answered_by)
        if not first.all_done:
            return False
        self._console.print()
        self._console.rule("the same file again")
        second = self._runner.report([self._runner.run_file(file)])
        self._again(first, second)
        checks = promises(first, second)
        self._console.print()
        for check in checks:
            mark, style = ("✓", "green") if check.held else ("✗", "bold red")
            self._console.print(f"{mark} {check.sentence}", style=style, markup=False, highlight=False)
        return all(check.held for check in checks)

    def _again(self, first: RunReport, second: RunReport) -> None:
        [file] = second.files
        if not file.finished:
            show_file(self._console, file, self._answered_by)
        further = _further(first, second)
        requests = "" if further is None else f"{further:,} further model requests; "
        self._console.print(
            f"{requests}{file.ended.known:,} of {file.counts.valid:,} valid rows known", highlight=False
        )


def promises(first: RunReport, second: RunReport) -> list[Check]:
    """What the demonstration claims, checked against the reports of both uploads."""
    [one], [two] = first.files, second.files
    checks = [_adds_up(one)]
    if first.model_requests is not None:
        sentence = f"{first.model_requests:,} model requests for {one.distinct:,} distinct valid rows"
        checks.append(Check(first.model_requests == one.distinct, sentence))
    further = _further(first, second)
    if further is not None:
        checks.append(Check(further == 0, f"{further:,} further model requests for the same file"))
    same = two.rows == one.rows and two.ended.known == two.counts.valid and two.ended.cost_microusd == 0
    checks.append(Check(same, "the same outcomes the second time, all of them known, at no cost"))
    return checks


def _adds_up(file: FileReport) -> Check:
    counts, ended = file.counts, file.ended
    parts = counts.valid + counts.rejected + counts.duplicates + counts.blank
    held = (
        counts.records == parts
        and counts.valid == ended.classified + ended.failed + ended.unknown
        and len(file.rows) == counts.records - counts.blank
    )
    return Check(held, f"the counts add up: each of {counts.records:,} records has an outcome or is blank")


def _further(first: RunReport, second: RunReport) -> int | None:
    if first.model_requests is None or second.model_requests is None:
        return None
    return second.model_requests - first.model_requests
