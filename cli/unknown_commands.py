"""`prospects unknown list` and `resolve`: rows that may have been billed without an answer, and their decisions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console

from cli.asking import MAY_COST, confirm
from cli.errors import CommandError
from cli.keys import KEY_OR_UPLOAD, NEITHER, key_named
from cli.operating import Operator
from cli.operator_commands import ORDER_CODES, SHOWN_CODES, Yes, begin
from cli.reasons import reason_given
from cli.sentences import sentences
from cli.show_unknown import QUESTIONS, listed, resolved_json, show_list, show_plan, show_resolved
from cli.target import Aws, Local, Name, Region
from cli.upload_commands import AsJson
from functions.operate.resolve_plans import Decision, ResolvePlan

DECISIONS: tuple[Decision, ...] = ("billed", "not-billed", "rerun")

app = typer.Typer(no_args_is_help=True, help="Rows that may have been billed without an answer: list and settle them.")

OnlyUpload = Annotated[
    str, typer.Option("--upload", metavar="UPLOAD", help="Of this upload; named as for the other commands.")
]


@app.command("list", epilog=SHOWN_CODES)
def list_(
    *,
    upload: OnlyUpload = "",
    as_json: AsJson = False,
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Show every row that is unknown: since when, why, what it may have cost at most, and what to do."""
    with sentences():
        target, operator = begin(name, region, local=local, aws=aws)
        unknown = operator.resolve.plans.unknown
        found = unknown.of_upload(operator.finder.upload(upload).upload_id) if upload else unknown.everywhere()
        rows = [listed(row) for row in unknown.priced([row for row in found if row.in_doubt or row.ordered])]
        if as_json:
            print(json.dumps({"unknown": len(rows), "rows": [row.to_json() for row in rows]}))
        else:
            show_list(Console(), rows, target.where)


@app.command(epilog=ORDER_CODES)
def resolve(
    first: Annotated[str, typer.Argument(metavar="[KEY|UPLOAD]", help=KEY_OR_UPLOAD)] = "",
    row: Annotated[
        int | None, typer.Argument(metavar="[ROW]", min=1, help="With an upload: the record's number.")
    ] = None,
    *,
    decision: Annotated[
        str,
        typer.Option(
            "--as",
            metavar="|".join(DECISIONS),
            help="billed: the provider has it, and its answer is lost. not-billed: the provider has none of its "
            "requests; it is asked again. rerun: nobody can tell; it is asked again, and may be billed twice.",
        ),
    ] = "",
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="How it is known; kept in the record.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Every unknown row of the upload of --upload.")] = False,
    upload: OnlyUpload = "",
    yes: Yes = False,
    as_json: AsJson = False,
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Settle an unknown row, or all of an upload. What it may cost is shown first; who decided, and why, is kept."""
    # With --json, stdout is the object's alone.
    console = Console(stderr=as_json)
    with sentences():
        chosen, why = _decision(decision), reason_given(reason, needed=True)
        named = _named(first, row, upload, everything=everything)
        target, operator = begin(name, region, local=local, aws=aws)
        plan = _plan(operator, chosen, named)
        show_plan(console, plan, operator.price(plan.worst_case_microusd), target.where)
        because = MAY_COST if plan.asks_again else "This cannot be taken back"
        confirm(console, QUESTIONS[chosen], yes=yes, because=because)
        done = operator.resolve.carry_out(plan, actor=operator.actor, reason=why)
    if as_json:
        print(json.dumps(resolved_json(done)))
    else:
        show_resolved(console, done)


def _decision(text: str) -> Decision:
    for decision in DECISIONS:
        if text == decision:
            return decision
    raise CommandError("Say what is known with --as: billed, not-billed or rerun (nobody can tell).")


@dataclass(frozen=True, slots=True)
class _Named:
    """A key; or an upload, of it one row or all."""

    key: str = ""
    upload: str = ""
    row: int | None = None


def _named(first: str, row: int | None, upload: str, *, everything: bool) -> _Named:
    """Raises CommandError where it is not exactly one of them."""
    if everything != bool(upload) or everything == bool(first):
        raise CommandError("Name a key, an upload and a row, or all of an upload: --all --upload UPLOAD.")
    if everything or row is not None:
        return _Named(upload=upload or first, row=row)
    key = key_named(first)
    if not key:
        raise CommandError(NEITHER.format(command="unknown resolve"))
    return _Named(key=key)


def _plan(operator: Operator, decision: Decision, named: _Named) -> ResolvePlan:
    if named.key:
        return operator.resolve.plans.plan_key(decision, named.key)
    found = operator.finder.upload(named.upload)
    if named.row is not None:
        return operator.resolve.plans.plan_row(decision, found, named.row)
    return operator.resolve.plans.plan_upload(decision, found)
