"""`prospects refund …`: what was paid, who approves, what is run, and what became of it."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from cli.asking import confirm
from cli.errors import CommandError, NotSoError
from cli.refunding import Refunds
from cli.render import print_line
from cli.sentences import sentences
from cli.show_refunds import show_open, show_pass, show_refund
from cli.target import Aws, Local, Name, Region, find_target
from cli.upload_commands import COMMON, AsJson
from functions.refunds.approval import Wanted
from functions.refunds.keys import check_request_id, mint_request_id
from functions.refunds.model import Decision
from functions.refunds.money import money
from functions.refunds.orders import paid_order
from functions.refunds.resolve import What
from functions.text import one_line

CODES = f"Exit codes: 0 done, or shown; 1 it is not there, not allowed or not refunded, or you said no; {COMMON}."
DONE = frozenset({"done", "already_done"})
_LONGEST_TEXT = 500

app = typer.Typer(no_args_is_help=True, help="Refund what was approved, once.")

OrderId = Annotated[str, typer.Argument(metavar="ORDER", help="The order's id.")]
Amount = Annotated[int, typer.Argument(metavar="AMOUNT", help="In the currency's minor unit: 1250 for 12.50 EUR.")]
Currency = Annotated[str, typer.Argument(metavar="CURRENCY", help="A code of ISO 4217, as EUR.")]
RequestId = Annotated[str, typer.Argument(metavar="REQUEST_ID", help="The one that the approval printed.")]
GivenId = Annotated[
    str | None, typer.Option("--request-id", metavar="REQUEST_ID", help="Repeat an earlier call of this command.")
]
Derived = Annotated[
    bool, typer.Option("--derived", help="Derive the request_id: a second refund of this amount is the same one.")
]
Why = Annotated[str, typer.Option("--why", metavar="TEXT", help="Kept with the decision.")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Kept in the refund's record.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


class Resolution(StrEnum):
    """What a person knows of an unknown refund."""

    HAPPENED = "happened"
    ABSENT = "absent"


@app.command(epilog=CODES)
def order(
    order_id: OrderId,
    amount: Amount,
    currency: Currency,
    *,
    stripe: Annotated[
        str,
        typer.Option("--stripe", metavar="PAYMENT", help="Paid at Stripe as ch_… or pi_…; else a row is the refund."),
    ] = "",
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Record what was paid for an order; its refunds never exceed that."""
    with sentences():
        paid = paid_order(order_id, amount, currency, provider="stripe" if stripe else "ledger", payment=stripe)
        new = _refunds(name, region, local=local, aws=aws).record_order(paid)
    print_line(Console(), f"{'Recorded' if new else 'Recorded before'}: {money(amount, currency)} for {order_id}.")


@app.command(epilog=CODES)
def request(
    order_id: OrderId,
    amount: Amount,
    currency: Currency,
    *,
    request_id: GivenId = None,
    derived: Derived = False,
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Have policy approve a refund, up to its limit; above it a person decides."""
    console = Console()
    with sentences():
        wanted = Wanted(order_id, amount, currency)
        key = _key(console, wanted, request_id, derived=derived)
        _refunds(name, region, local=local, aws=aws).request(wanted, request_id=key)
    print_line(console, f"Approved by policy: prospects refund run {key}")


@app.command(epilog=CODES)
def approve(
    order_id: OrderId,
    amount: Amount,
    currency: Currency,
    *,
    why: Why,
    request_id: GivenId = None,
    derived: Derived = False,
    yes: Yes = False,
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Approve a refund as yourself, and print its request_id. Nothing is paid before it is run."""
    console = Console()
    with sentences():
        wanted, refunds = Wanted(order_id, amount, currency), _refunds(name, region, local=local, aws=aws)
        confirm(console, f"Approve a refund of {money(amount, currency)} on {order_id}?", yes=yes)
        key = _key(console, wanted, request_id, derived=derived)
        _decide(refunds, wanted, "CONFIRM", why=why, key=key)
    print_line(console, f"Approved: prospects refund run {key}")


@app.command(epilog=CODES)
def deny(
    order_id: OrderId,
    amount: Amount,
    currency: Currency,
    *,
    why: Why,
    request_id: GivenId = None,
    derived: Derived = False,
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Deny a refund as yourself; its request_id is never paid."""
    console = Console()
    with sentences():
        wanted, refunds = Wanted(order_id, amount, currency), _refunds(name, region, local=local, aws=aws)
        key = _key(console, wanted, request_id, derived=derived)
        _decide(refunds, wanted, "DENY", why=why, key=key)
    print_line(console, f"Denied: {key}")


@app.command(epilog=CODES)
def run(
    request_id: RequestId,
    *,
    as_json: AsJson = False,
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Run an approved refund; a repeat pays nothing again."""
    with sentences():
        answer = _refunds(name, region, local=local, aws=aws).run(request_id)
        if as_json:
            print(json.dumps(answer))
        elif answer["status"] not in DONE:
            raise NotSoError(one_line(str(answer["message"])))
        else:
            print_line(Console(), one_line(str(answer["message"])))
    if answer["status"] not in DONE:
        raise typer.Exit(1)


@app.command(epilog=CODES)
def status(
    request_id: RequestId,
    *,
    as_json: AsJson = False,
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Tell where a refund stands, who approved it, and who settled it if it was unknown."""
    with sentences():
        found = _refunds(name, region, local=local, aws=aws).status(request_id)
        print(json.dumps(found.to_json())) if as_json else show_refund(Console(), found)


@app.command(name="list", epilog=CODES)
def list_open(
    *, as_json: AsJson = False, name: Name = None, region: Region = None, local: Local = False, aws: Aws = False
) -> None:
    """List what is approved and neither refunded nor finally failed, the oldest first."""
    with sentences():
        found = list(_refunds(name, region, local=local, aws=aws).open())
        if as_json:
            print(json.dumps({"open": [each.to_json() for each in found]}))
        else:
            show_open(Console(), found)


@app.command(epilog=CODES)
def reconcile(
    *, as_json: AsJson = False, name: Name = None, region: Region = None, local: Local = False, aws: Aws = False
) -> None:
    """Look at every open refund now: ask the provider about the unknown ones, and run what was left behind."""
    with sentences():
        counts = _refunds(name, region, local=local, aws=aws).reconcile()
        print(json.dumps(counts)) if as_json else show_pass(Console(), counts)


@app.command(epilog=CODES)
def resolve(
    request_id: RequestId,
    *,
    known: Annotated[Resolution, typer.Option("--as", help="What you know of it.")],
    reason: Reason,
    refund_id: Annotated[
        str, typer.Option("--refund-id", metavar="ID", help="The provider's name of the refund, if it happened.")
    ] = "",
    attempt: Annotated[
        int | None, typer.Option("--attempt", metavar="N", help="The one you looked into; without it, the last.")
    ] = None,
    yes: Yes = False,
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Decide about an unknown refund of which the provider cannot tell. `absent` lets it be sent again."""
    console = Console()
    with sentences():
        refunds, what = _refunds(name, region, local=local, aws=aws), _what(known)
        if what == "absent" and refund_id:
            raise CommandError("--refund-id names a refund that was made; with it, --as is happened.")
        # Read before it is asked: what the reconciler sends while somebody thinks is no part of the answer.
        number = refunds.status(request_id).attempts if attempt is None else attempt
        question = (
            f"Attempt {number} is refunded at the provider?"
            if what == "happened"
            else f"Attempt {number} certainly is not, and it is sent again?"
        )
        confirm(console, question, yes=yes)
        refunds.resolve(request_id, what, attempt=number, reason=_text("--reason", reason), refund_id=refund_id)
    print_line(console, f"Settled as {what}: prospects refund status {request_id}")


def _refunds(name: str | None, region: str | None, *, local: bool, aws: bool) -> Refunds:
    return Refunds(find_target(name, region, local=local, aws=aws))


def _decide(refunds: Refunds, wanted: Wanted, decision: Decision, *, why: str, key: str) -> None:
    decided = refunds.decide(wanted, decision, why=_text("--why", why), request_id=key)
    if decided.decision != decision:
        raise NotSoError(f"The action {key} was decided before, as {decided.decision}; that stays.")


def _key(console: Console, wanted: Wanted, request_id: str | None, *, derived: bool) -> str:
    if derived and request_id is not None:
        raise CommandError("--derived and --request-id name the request_id twice; leave one out.")
    if derived:
        return wanted.derived_request_id
    if request_id is not None:
        return check_request_id(request_id)
    minted = mint_request_id()
    # Before anything is sent: if the answer is lost, the same call is repeated with it.
    print_line(console, f"request_id: {minted}")
    return minted


def _text(option: str, value: str) -> str:
    if not 0 < len(value.strip()) <= _LONGEST_TEXT:
        raise CommandError(f"{option} takes 1 to {_LONGEST_TEXT} characters.")
    return value


def _what(known: Resolution) -> What:
    return "happened" if known is Resolution.HAPPENED else "absent"
