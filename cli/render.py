"""Reports for people: a table of each file's rows, counts that add up, the money and where the results are."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.reports import FileReport, RowReport, RunReport
from functions.finish.summary import usd
from functions.operate.advice import advice_of
from functions.text import one_line

STAND_IN = "the local stand-in, which scores by a few stated rules and is no model"
MAX_ROWS = 60
"""A longer file shows its first rows; all of them are in the results CSV and in `--json`."""
COLOURS = {
    "hot": "red",
    "warm": "yellow",
    "cold": "cyan",
    "rejected": "magenta",
    "duplicate": "bright_black",
    "failed": "bold red",
    "unknown": "bold yellow",
}


def show_run(console: Console, run: RunReport, answered_by: str) -> None:
    """Everything about a run. `answered_by` names what gave the labels: STAND_IN, or a model."""
    for file in run.files:
        show_file(console, file, answered_by)
    show_totals(console, run, answered_by)


def show_file(console: Console, file: FileReport, answered_by: str) -> None:
    console.print(_title(file), soft_wrap=True)
    if file.sentence:
        print_line(console, f"  {one_line(file.sentence)}")
    if file.upload_id is None:
        console.print()
        return
    if file.rows:
        console.print(_rows(file.rows[:MAX_ROWS], answered_by))
    if len(file.rows) > MAX_ROWS:
        where = "the results CSV" if file.results_csv else "--json"
        print_line(console, f"  … and {len(file.rows) - MAX_ROWS:,} more rows; {where} has them all.")
    for line in (*_columns(file), *_counts(file, answered_by), *_advice(file)):
        print_line(console, f"  {line}")
    console.print()


def show_totals(console: Console, run: RunReport, answered_by: str) -> None:
    if run.model_requests is not None:
        print_line(console, f"Model requests: {run.model_requests:,}")
    print_line(console, f"Labels by: {answered_by}")
    waiting = {name: count for name, count in run.dead_letters.items() if count}
    letters = ", ".join(f"{count} in {name}" for name, count in waiting.items()) or "none"
    print_line(console, f"Dead letters: {letters}")


def _title(file: FileReport) -> Text:
    style = {"done": "bold green", "refused": "bold red"}.get(file.state, "bold yellow")
    title = Text(one_line(file.file), style="bold").append(": ").append(file.state.replace("_", " "), style=style)
    if file.repeated:
        title.append(" (these bytes were uploaded before: no row is paid again)", style="not bold")
    return title


def _rows(rows: Sequence[RowReport], answered_by: str) -> Table:
    table = Table(header_style="bold", pad_edge=False)
    table.add_column("row", justify="right")
    table.add_column("line", justify="right")
    table.add_column("outcome", no_wrap=True)
    table.add_column("label (stand-in)" if answered_by == STAND_IN else "label", no_wrap=True)
    table.add_column("reason", overflow="fold")
    for row in rows:
        table.add_row(
            str(row.row),
            str(row.line),
            Text(row.outcome, style=COLOURS.get(row.outcome, "")),
            Text(one_line(row.label), style=COLOURS.get(row.label, "")),
            Text(one_line(f"{row.reason}: {row.detail}" if row.detail else row.reason)),
        )
    return table


def _columns(file: FileReport) -> list[str]:
    shown = ", ".join(f"{key} ({one_line(written)})" for key, written in file.shown_columns)
    others = ", ".join(map(one_line, file.other_columns))
    return [f"columns {shown}" + (f"; not shown to the model: {others}" if others else "")] if shown else []


def _counts(file: FileReport, answered_by: str) -> list[str]:
    counts, ended = file.counts, file.ended
    lines = [
        f"records {counts.records:,} = {counts.valid:,} valid + {counts.rejected:,} rejected"
        f" + {counts.duplicates:,} duplicate + {counts.blank:,} blank",
        f"valid   {counts.valid:,} = {ended.classified:,} classified + {ended.failed:,} failed"
        + f" + {ended.unknown:,} unknown"
        + (f" + {file.open_rows:,} still open" if file.open_rows else ""),
        f"known   {ended.known:,} answered from stored outcomes, without a request",
    ]
    if file.labels:
        lines.append("labels  " + ", ".join(f"{one_line(label)} {count:,}" for label, count in file.labels.items()))
    supposed = " (what these requests would have cost)" if answered_by == STAND_IN and ended.cost_microusd else ""
    lines.append(f"cost    {usd(ended.cost_microusd)}{supposed}")
    if file.encoding_guessed:
        lines.append("note    the file is not UTF-8; it was read as Windows-1252, which is a guess")
    if file.results_csv:
        lines.append(f"results {one_line(file.results_csv)}")
    return lines


def _advice(file: FileReport) -> list[str]:
    """What to do about each reason for which a valid row has no label, once."""
    reasons = dict.fromkeys(row.reason for row in file.rows if row.outcome in {"failed", "unknown"})
    return [f"{reason}: {advice_of(reason)}" for reason in reasons]


def print_line(console: Console, text: str) -> None:
    """One line as it is: no markup, no wrapping."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)
