"""`prospects approve`, `resume`, `failures`, `retry` and `audit`: what an operator does to an upload."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from itertools import islice
from typing import Annotated

import typer
from rich.console import Console

from cli.asking import confirm
from cli.errors import CommandError
from cli.keys import KEY_OR_UPLOAD, NEITHER, key_named
from cli.operating import Operator
from cli.reasons import reason_given
from cli.render import print_line
from cli.sentences import sentences
from cli.show_orders import show_approval, show_audit, show_failures, show_retry
from cli.target import Aws, Local, Name, Region, Target, find_target
from cli.upload_commands import COMMON, AsJson, UploadName
from functions.finish.summary import usd
from functions.operate.advice import advice_of
from functions.operate.errors import NotDone, NothingToRetry, NotWaiting

ORDER_CODES = f"Exit codes: 0 done; 1 there is no such upload, it is not in that state, or you said no; {COMMON}."
SHOWN_CODES = f"Exit codes: 0 shown; 1 there is no such upload, row or key; {COMMON}."
MOST_SHOWN = 50

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


def approve(
    upload: UploadName,
    *,
    yes: Yes = False,
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Let an upload run that is over a ceiling. Its price is shown first."""
    console = Console()
    with sentences():
        target, operator = begin(name, region, local=local, aws=aws)
        found = operator.finder.upload(upload)
        if found.state != "needs_approval":
            raise NotWaiting(found.upload_id, found.state)
        show_approval(console, found, *operator.approval(found), target.where)
        confirm(console, "Let it run?", yes=yes)
        operator.approve(found)
    print_line(console, f"Approved; it goes on by itself: prospects status {found.upload_id}")


def resume(
    upload: UploadName,
    *,
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Let a paused upload go on where it stood; nothing is paid twice."""
    console = Console()
    with sentences():
        _, operator = begin(name, region, local=local, aws=aws)
        resumed = operator.resume(operator.finder.upload(upload))
    print_line(console, f"Resumed {resumed.upload_id}, which was paused for {resumed.pause_reason}.")
    print_line(console, f"If it pauses again: {advice_of(resumed.pause_reason)}")
    print_line(console, f"It goes on by itself: prospects status {resumed.upload_id}")


def failures(
    upload: UploadName,
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many are shown; --json has all.")] = MOST_SHOWN,
    as_json: AsJson = False,
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Show every record without a label: where it stands in the file, why, and what to do."""
    with sentences():
        _, operator = begin(name, region, local=local, aws=aws)
        found = operator.finder.upload(upload)
        told = operator.failures(found)
        if as_json:
            rows = [asdict(each) for each in told]
            counts = Counter(row["outcome"] for row in rows)
            summary = {outcome: counts[outcome] for outcome in ("failed", "unknown", "rejected")}
            print(json.dumps({"upload_id": found.upload_id, "state": found.state, **summary, "rows": rows}))
            return
        first = list(islice(told, limit))
        show_failures(Console(), found, first, len(first) + sum(1 for _ in told))


def retry(
    upload: UploadName,
    *,
    yes: Yes = False,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Kept in the records that run again.")] = "",
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Ask again for the rows of a finished upload that failed unbilled. Their price is shown first."""
    console = Console()
    with sentences():
        why = reason_given(reason, needed=False)
        target, operator = begin(name, region, local=local, aws=aws)
        found = operator.finder.upload(upload)
        if found.state != "done":
            raise NotDone(found.upload_id, found.state)
        planned = operator.retry_plan(found)
        if not planned.rows:
            raise NothingToRetry(found.upload_id)
        show_retry(console, found, planned, target.where)
        confirm(console, "Ask again?", yes=yes)
        retried = operator.retry(found, why)
    print_line(
        console,
        f"{retried.rows:,} rows are open again, {retried.answered:,} of them answered by now; "
        f"{usd(retried.worst_case_microusd)} are reserved.",
    )
    print_line(console, f"It goes on by itself: prospects status {retried.upload_id}")


def audit(
    first: Annotated[str, typer.Argument(metavar="KEY|UPLOAD", help=KEY_OR_UPLOAD)],
    row: Annotated[
        int | None, typer.Argument(metavar="[ROW]", min=1, help="With an upload: the record's number.")
    ] = None,
    *,
    as_json: AsJson = False,
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Tell which model version gave an answer, from which input, when, and in how many attempts."""
    with sentences():
        key = key_named(first) if row is None else ""
        if row is None and not key:
            raise CommandError(NEITHER.format(command="audit"))
        _, operator = begin(name, region, local=local, aws=aws)
        found = operator.audit_key(key) if row is None else operator.audit_row(operator.finder.upload(first), row)
        print(json.dumps(found.to_json())) if as_json else show_audit(Console(), found)


def begin(name: str | None, region: str | None, *, local: bool, aws: bool) -> tuple[Target, Operator]:
    target = find_target(name, region, local=local, aws=aws)
    return target, Operator(target)
