"""Plans before an order, and what came of it, for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.finding import UPLOADS
from cli.operating import Price, RetryPlan
from cli.render import COLOURS, print_line
from functions.finish.summary import usd
from functions.operate.approve import Plan
from functions.operate.audit import Audit
from functions.operate.failures import Failure
from functions.text import one_line
from functions.uploads.model import Upload

_NONE = "-"


def show_approval(console: Console, upload: Upload, found: Plan, price: Price, where: str) -> None:
    """The price first, like a plan."""
    counts = found.counts
    _title(console, upload, f"{found.to_ask:,} rows to ask the model, {found.known:,} known")
    for line in (
        f"upload      {found.upload_id} on {one_line(where)}",
        f"records     {counts.records:,} = {counts.valid:,} valid + {counts.rejected:,} rejected"
        f" + {counts.duplicates:,} duplicate + {counts.blank:,} blank",
        f"known       {found.known:,} rows are answered from stored outcomes, at {usd(0)}",
        f"to ask      {found.to_ask:,} rows",
        *price_lines(price),
    ):
        print_line(console, f"  {line}")


def show_retry(console: Console, upload: Upload, found: RetryPlan, where: str) -> None:
    _title(console, upload, f"{found.rows:,} failed rows to ask again")
    for line in (
        f"upload      {found.upload_id} on {one_line(where)}",
        f"to ask      {found.rows:,} rows that failed, unbilled",
        *price_lines(found.price),
    ):
        print_line(console, f"  {line}")


def show_failures(console: Console, upload: Upload, found: Sequence[Failure], total: int) -> None:
    """The first failures as a table; `total` is how many there are."""
    if not total:
        ended, so_far = ("", "") if upload.state == "done" else (" that ended", " so far")
        print_line(console, f"Every row of {upload.upload_id}{ended} has a label{so_far}.")
        return
    table = Table(header_style="bold", pad_edge=False)
    for name in ("record", "line"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("outcome", no_wrap=True)
    table.add_column("reason", overflow="fold")
    table.add_column("what to do", overflow="fold", ratio=1)
    above = ""
    for each in found:
        reason = f"{each.reason}: {each.detail}" if each.detail else each.reason
        outcome = Text(each.outcome, style=COLOURS.get(each.outcome, ""))
        # An outage fails many rows alike, and says the same of each.
        advice, above = ("as above" if each.advice == above else each.advice), each.advice
        table.add_row(str(each.row), str(each.line), outcome, Text(one_line(reason)), Text(advice))
    console.print(table)
    if len(found) < total:
        print_line(console, f"… and {total - len(found):,} more; --limit shows more, --json all of them.")
    if any(each.retryable for each in found):
        print_line(console, f"Another try: prospects retry {upload.upload_id}")


def show_audit(console: Console, audit: Audit) -> None:
    """Everything about one key; what has no value is left out."""
    row = audit.row
    through = f"row {row.row}, line {row.line} of {row.upload_id}: {row.outcome or 'open'}" if row else ""
    known = " (answered without a request of this row)" if row and row.known else ""
    answer = audit.label or " ".join(filter(None, (audit.outcome, audit.reason)))
    attempts = f"{audit.attempts} ({audit.paid_attempts} may have been billed, {audit.ordered_attempts} ordered)"
    usage = ", ".join(f"{name} {count:,}" for name, count in (audit.usage or {}).items())
    at_most = "" if audit.at_most_microusd is None else f"unknown, at most {usd(audit.at_most_microusd)}"
    pairs = {
        "key": audit.key,
        "row": through + known,
        "state": audit.state if audit.state != "ABSENT" else "ABSENT: nothing was ever claimed for this key",
        "answer": answer,
        "paid": "" if not audit.outcome else "yes" if audit.paid else "no",
        "model": audit.model,
        "prompt": audit.prompt_version,
        "input": audit.input_digest and f"sha256 {audit.input_digest}",
        "request id": audit.request_id,
        "stop reason": audit.stop_reason,
        "http status": "" if audit.http_status is None else str(audit.http_status),
        "attempts": attempts if audit.attempts else "",
        "late answers": str(audit.late_answers) if audit.late_answers else "",
        "asked by": audit.requested_by,
        "claimed": audit.claimed_at,
        "finished": audit.finished_at,
        "usage": usage,
        "cost": at_most or usd(audit.cost_microusd),
    }
    for name, value in pairs.items():
        if value:
            print_line(console, f"{name:<13}{one_line(value)}")
    for decision in audit.decisions:
        print_line(
            console,
            f"{'decided':<13}{decision.at} {one_line(f'{decision.event}, by {decision.actor}: {decision.reason}')}",
        )


def _title(console: Console, upload: Upload, what: str) -> None:
    name = one_line(upload.object_key.removeprefix(UPLOADS))
    console.print(Text(name, style="bold").append(f": {what}", style="not bold"), soft_wrap=True)


def price_lines(price: Price) -> list[str]:
    """The worst case, and how it stands to the ceilings."""
    worst, left, ceiling = price.worst_case_microusd, price.left_today_microusd, price.upload_ceiling_microusd
    ceilings = [] if ceiling is None else [f"{usd(ceiling)} for an upload{_beyond(worst, ceiling)}"]
    ceilings.append(
        "none is set for a day" if left is None else f"{usd(left)} are left of today's (UTC)" + _beyond(worst, left)
    )
    first, *second = ceilings
    name = "ceilings" if second else "ceiling"
    return [f"worst case  {usd(worst)}", f"{name:<12}{first}", *(f"{'':<12}{line}" for line in second)]


def _beyond(worst_case_microusd: int, ceiling_microusd: int) -> str:
    over = worst_case_microusd - ceiling_microusd
    return f"; this goes {usd(over)} beyond it" if over > 0 else ""
