"""The local outbox: notices as the mails that they would have been."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from cli.render import print_line
from cli.statuses import timestamp
from functions.text import one_line
from local.outbox import Notice


def notice_json(notice: Notice) -> dict[str, Any]:
    return {"at": timestamp(notice.at), "topic": notice.topic, "subject": notice.subject, "text": notice.text}


def show_outbox(console: Console, notices: Sequence[Notice], *, last: int | None = None) -> None:
    """In the order they were sent, each with a rule above it; only the `last` of them where that is given."""
    if not notices:
        print_line(console, "Nothing would have been mailed yet.")
    first = 0 if last is None else max(0, len(notices) - last)
    for number, notice in enumerate(notices[first:], first + 1):
        console.rule(Text(f"{number} of {len(notices)}, {timestamp(notice.at)}"), align="left", style="bright_black")
        console.print(Text(one_line(notice.subject), style="bold"), soft_wrap=True)
        for line in notice.text.splitlines():
            print_line(console, one_line(line))
