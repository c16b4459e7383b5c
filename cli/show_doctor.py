"""The doctor's findings for people: one line a check as it comes, what to do below it, a sum at the end."""

from __future__ import annotations

from collections import Counter

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.doctor.report import Finding, Report
from cli.render import print_line
from functions.text import one_line

MARKS = {
    "ok": ("ok", "green"),
    "problem": ("problem", "bold red"),
    "unknown": ("unknown", "yellow"),
    "not_meaningful": ("-", "bright_black"),
}
_MARK_WIDTH, _NAME_WIDTH = 7, 13


def show_finding(console: Console, name: str, finding: Finding) -> None:
    """One check; words are not cut where a line ends."""
    mark, style = MARKS[finding.state]
    found = f"not meaningful here: {finding.found}" if finding.state == "not_meaningful" else finding.found
    table = Table.grid(padding=(0, 1))
    table.add_column(width=_MARK_WIDTH)
    table.add_column(width=_NAME_WIDTH)
    table.add_column(overflow="fold")
    table.add_row(Text(mark, style=style), Text(name, style="bold"), Text(one_line(found)))
    if finding.todo:
        table.add_row("", "", Text(f"→ {one_line(finding.todo)}"))
    console.print(table, highlight=False)


def show_sum(console: Console, report: Report) -> None:
    states: Counter[str] = Counter(finding.state for _, finding in report.findings)
    told = ", ".join(f"{states[state]} {state.replace('_', ' ')}" for state in MARKS if states[state])
    console.print()
    print_line(console, f"{len(report.findings)} checks on {one_line(report.where)}: {told}")
