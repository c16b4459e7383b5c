"""Refunds for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.refunding import RefundStatus
from cli.render import print_line
from functions.refunds.model import Unreadable
from functions.refunds.money import money
from functions.text import one_line

_SAYS = {
    "denied": "denied; it is never paid",
    "not_started": "approved, and not paid yet",
    "intended": "being paid by somebody now",
    "done": "refunded",
    "failed": "failed for good; a new one needs a new approval",
    "unknown": "unknown: it may have been paid, and is not sent again before that is known",
}


def show_refund(console: Console, status: RefundStatus) -> None:
    action = status.action
    decided = (
        f"{action.decision} by {one_line(action.decided_by)} at {_time(action.decided_at)}: {one_line(action.why)}"
    )
    lines = [
        f"refund      {action.request_id}",
        f"is          {_SAYS[status.standing]}" + (f" ({status.reason})" if status.reason else ""),
        f"of          {money(action.amount_minor, action.currency)} on the order {action.order_id}",
        f"decided     {decided}",
        f"through     {action.provider}",
    ]
    if status.row:
        lines.append(f"refund id   {one_line(status.row.refund_id) or '-'} at {_time(status.row.refunded_at)}")
    if status.record:
        lines.append(f"attempts    {status.attempts}")
        for each in status.record.resolutions:
            by = f"{one_line(each.actor)} at {_time(each.at)}: {one_line(each.reason)}"
            lines.append(f"settled     {each.event}, by {by}")
    for line in lines:
        print_line(console, f"  {line}")


def show_open(console: Console, found: Sequence[RefundStatus | Unreadable]) -> None:
    if not found:
        print_line(console, "No approved refund is open.")
        return
    table = Table(header_style="bold", pad_edge=False)
    for name in ("request_id", "standing", "amount"):
        table.add_column(name, no_wrap=True)
    table.add_column("order", overflow="fold")
    for each in found:
        if isinstance(each, Unreadable):
            cells: tuple[str, ...] = (each.request_id, each.standing, "", "")
        else:
            action = each.action
            cells = (action.request_id, each.standing, money(action.amount_minor, action.currency), action.order_id)
        table.add_row(*(Text(cell) for cell in cells))
    console.print(table)


def show_pass(console: Console, counts: Mapping[str, Any]) -> None:
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    print_line(console, f"Looked at every open refund: {told or 'there is none'}.")


def _time(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
