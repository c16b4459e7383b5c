"""Uploads for people: a list of all that is open and what was finished last, or everything about one."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.finding import UPLOADS
from cli.render import print_line
from cli.statuses import Overview, Status, timestamp
from functions.finish.summary import usd
from functions.operate.advice import advice_of
from functions.text import one_line
from functions.uploads.model import Upload

_ID_SHOWN = 10
STYLES = {"done": "green", "refused": "bold red", "paused": "bold yellow", "needs_approval": "bold yellow"}


def show_overview(console: Console, found: Overview, where: str) -> None:
    print_line(console, f"On {one_line(where)}")
    console.print()
    if not found.open and not found.finished:
        print_line(console, "No upload yet; begin with `prospects upload FILE`.")
        return
    if found.open:
        console.print(_table("open", found.open))
    else:
        print_line(console, "Nothing is open.")
    if found.finished:
        console.print()
        console.print(_table("finished", found.finished))


def show_status(console: Console, status: Status, where: str) -> None:
    """Everything about one upload, and what to do where it waits for somebody."""
    console.print(_title(status), soft_wrap=True)
    for line in _lines(status, where):
        print_line(console, f"  {line}")


def state_text(state: str) -> Text:
    return Text(state.replace("_", " "), style=STYLES.get(state, ""))


def _title(status: Status) -> Text:
    title = Text(_file(status), style="bold").append(": ").append_text(state_text(status.state))
    return title.append(f" ({one_line(status.reason)})", style="not bold") if status.reason else title


def _lines(status: Status, where: str) -> list[str]:
    upload = status.upload
    if upload is None:
        if status.state == "refused":
            return ["nothing was classified and nothing was billed; correct the file and upload it again"]
        return ["not taken in yet: its event is on the way, or it is being read and priced"]
    counts = upload.counts
    lines = [
        f"upload    {upload.upload_id} on {one_line(where)}",
        f"uploaded  {timestamp(upload.created_at)}",
        f"records   {counts.records:,} = {counts.valid:,} valid + {counts.rejected:,} rejected"
        f" + {counts.duplicates:,} duplicate + {counts.blank:,} blank",
        f"ended     {_ended(status)}",
    ]
    return lines + (_finished(upload) if status.state == "done" else _waiting(status, upload))


def _finished(upload: Upload) -> list[str]:
    rows = upload.rows
    return [
        f"outcomes  {rows.classified:,} classified + {rows.failed:,} failed + {rows.unknown:,} unknown",
        f"known     {rows.known:,} answered from stored outcomes, without a request",
        f"cost      {usd(rows.cost_microusd)} (worst case {usd(upload.worst_case_microusd)})",
        *(
            [f"in doubt  {usd(rows.in_doubt_microusd)} at most, of requests without an answer"]
            if rows.in_doubt_microusd
            else []
        ),
        f"finished  {timestamp(upload.finished_at)}" + (f", revision {upload.revision}" if upload.revision > 1 else ""),
        f"results   s3://{upload.bucket}/{one_line(upload.results_key or '')}",
        *([f"next      prospects failures {upload.upload_id}"] if rows.failed or rows.unknown else []),
    ]


def _waiting(status: Status, upload: Upload) -> list[str]:
    lines = [f"price     at most {usd(upload.worst_case_microusd)}; {upload.counts.known:,} rows known, at no cost"]
    if status.state == "needs_approval":
        return [
            *lines,
            "waiting   it is over a ceiling; nothing was sent",
            f"next      prospects approve {upload.upload_id}",
        ]
    if status.state == "paused":
        return [
            *lines,
            f"paused    {timestamp(upload.paused_at)}; no row is lost and nothing is paid twice",
            f"next      {advice_of(upload.pause_reason)}",
            f"          prospects resume {upload.upload_id}",
        ]
    what = "classifying" if upload.published else f"publishing, at record {upload.checkpoint:,}"
    return [*lines, f"doing     {what}"]


def _ended(status: Status) -> str:
    upload = status.upload
    valid = upload.counts.valid if upload else 0
    return f"{status.ended:,} of {valid:,} valid rows" + ("" if status.exact else " (at the last look)")


def _table(title: str, statuses: list[Status]) -> Table:
    table = Table(box=None, title=title, title_justify="left", title_style="bold", header_style="bold", pad_edge=False)
    table.add_column("upload", no_wrap=True)
    table.add_column("file", overflow="fold", min_width=12)
    table.add_column("state", overflow="fold", min_width=8)
    table.add_column("ended", justify="right", no_wrap=True)
    table.add_column("USD", justify="right", no_wrap=True)
    table.add_column("finished" if title == "finished" else "uploaded", no_wrap=True)
    for status in statuses:
        if status.upload is not None:
            table.add_row(*_cells(status, status.upload))
    return table


def _cells(status: Status, upload: Upload) -> tuple[Text, ...]:
    done = status.state == "done"
    cost = usd(upload.rows.cost_microusd if done else upload.worst_case_microusd).removesuffix(" USD")
    at = timestamp(upload.finished_at if done else upload.created_at) or ""
    state = state_text(status.state)
    if status.reason:
        state.append(f"\n{one_line(status.reason)}", style="not bold")
    return (
        # As much of it as a person needs to name it again.
        Text(upload.upload_id[:_ID_SHOWN]),
        Text(_file(status)),
        state,
        Text(f"{status.ended:,}/{upload.counts.valid:,}"),
        Text(cost if done else f"≤ {cost}"),
        Text(at[:16].replace("T", " ")),
    )


def _file(status: Status) -> str:
    return one_line(status.object_key.removeprefix(UPLOADS))
