"""Rows that are unknown, the plan of a decision about them, and what came of it: for people, and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.operating import Price
from cli.render import print_line
from cli.show_orders import price_lines
from cli.statuses import timestamp
from functions.finish.summary import usd
from functions.operate.advice import advice_of
from functions.operate.resolve import Resolved
from functions.operate.resolve_plans import Decision, ResolvePlan
from functions.operate.unknown import UnknownRow
from functions.text import one_line

ORDERED = "Another attempt is allowed and was not made yet; if that stays so, give the same order again."
NO_RECORD = "Its record is gone, so nothing can be decided about it; label this prospect by hand."
QUESTIONS: Mapping[Decision, str] = {
    "billed": "Settle as billed, with the answer lost?",
    "not-billed": "Settle as not billed, and ask again?",
    "rerun": "Ask again, at the risk of a second bill?",
}
_DONE: Mapping[Decision, str] = {
    "billed": "settled as billed (answer_lost)",
    "not-billed": "settled as not billed",
    "rerun": "allowed one more attempt",
}


@dataclass(frozen=True, slots=True)
class ListedRow:
    """One row that waits for a decision. `attempts` may have been billed, for at most `at_most_microusd` together (None
    where nothing tells it); `state` is `unknown`, or `ordered` where another attempt is allowed already."""

    key: str
    upload_id: str
    row: int
    line: int
    state: str
    reason: str
    since: str | None
    attempts: int
    at_most_microusd: int | None
    advice: str

    def to_json(self) -> dict[str, Any]:
        """The members and their order are a contract (docs/commands.md)."""
        return asdict(self)


def listed(row: UnknownRow) -> ListedRow:
    record, item = row.record, row.item
    outcome = record.outcome if record else None
    reason = outcome.reason if outcome and outcome.kind == "unknown" else item.reason
    return ListedRow(
        key=item.key,
        upload_id=item.upload_id,
        row=item.row_number,
        line=item.line,
        state="unknown" if row.in_doubt else "ordered",
        reason=reason,
        since=timestamp((record.finished_at if record else None) or item.finished_at),
        attempts=record.paid_attempts if record else 0,
        at_most_microusd=row.doubted_microusd,
        advice=NO_RECORD if record is None else advice_of(reason) if row.in_doubt else ORDERED,
    )


def show_list(console: Console, rows: Sequence[ListedRow], where: str) -> None:
    if not rows:
        print_line(console, f"No row is unknown on {one_line(where)}.")
        return
    for upload_id, those in groupby(rows, key=lambda row: row.upload_id):
        print_line(console, f"{upload_id} on {one_line(where)}")
        console.print(_table(list(those)))
        print_line(console, f"prospects unknown resolve {upload_id} ROW --as billed|not-billed|rerun --reason TEXT")
        console.print()
    for name, advice in dict.fromkeys((_why(row), row.advice) for row in rows):
        print_line(console, f"{name}: {advice}")


def _table(rows: Sequence[ListedRow]) -> Table:
    table = Table(header_style="bold", pad_edge=False)
    for name in ("row", "line"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("since", "at most"):
        table.add_column(name, no_wrap=True)
    table.add_column("reason", overflow="fold")
    for row in rows:
        cost = "-" if row.at_most_microusd is None else usd(row.at_most_microusd)
        table.add_row(*map(Text, (str(row.row), str(row.line), row.since or "-", cost, _why(row))))
    return table


def _why(row: ListedRow) -> str:
    return one_line(row.reason if row.state == "unknown" else f"{row.reason} (another attempt ordered)")


def show_plan(console: Console, plan: ResolvePlan, price: Price, where: str) -> None:
    """What is decided about how many rows, and what it may cost."""
    count = len(plan.rows)
    sent = "cannot be told" if plan.doubted_microusd is None else f"at most {usd(plan.doubted_microusd)}"
    console.print(Text(f"{_rows(count)} of {plan.upload.upload_id}: {plan.decision}", style="bold"), soft_wrap=True)
    for line in (
        f"upload      {plan.upload.upload_id} on {one_line(where)}",
        f"sent        {_rows(count)}; what that may have cost: {sent}",
        *([f"following   {_rows(plan.following)} of the same key"] if plan.following else []),
        *(price_lines(price) if plan.asks_again else ["costs       nothing more; nothing is asked again"]),
        *(["            on top of what was billed already, if it was"] if plan.decision == "rerun" else []),
    ):
        print_line(console, f"  {line}")


def show_resolved(console: Console, done: Resolved) -> None:
    print_line(console, f"{_rows(done.settled)} {_DONE[done.decision]}.")
    if done.moved_on:
        print_line(
            console,
            f"{_rows(done.moved_on)} moved on meanwhile, left alone: look again with prospects unknown list.",
        )
    if done.opened:
        print_line(console, f"{_rows(done.opened)} open again; {usd(done.reserved_microusd)} are reserved at most.")
    print_line(console, f"The rows and the results follow by themselves: prospects status {done.upload_id}")


def resolved_json(done: Resolved) -> dict[str, Any]:
    """The members and their order are a contract (docs/commands.md)."""
    return {
        "upload_id": done.upload_id,
        "as": done.decision,
        "settled": done.settled,
        "moved_on": done.moved_on,
        "opened": done.opened,
        "reserved_microusd": done.reserved_microusd,
    }


def _rows(count: int) -> str:
    return f"{count:,} row" if count == 1 else f"{count:,} rows"
