"""`prospects doctor`: checks a deployment against what only the account itself can tell."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console

from cli.doctor.examination import examine
from cli.doctor.patient import Patient
from cli.doctor.report import Report
from cli.sentences import sentences
from cli.show_doctor import show_finding, show_sum
from cli.target import Aws, Local, Name, Region, find_target

EXIT_CODES = "Exit codes: 0 no problem was found, 1 a problem was found, 2 there is nothing that could be checked."


def doctor(
    *,
    spend: Annotated[bool, typer.Option("--spend", help="Also make one smallest model request; it is billed.")] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Put nothing into the bucket: the check of object keys is skipped.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, and nothing else, on stdout.")
    ] = False,
    name: Name = None,
    region: Region = None,
    local: Local = False,
    aws: Aws = False,
) -> None:
    """Check what documentation leaves open, and what a deployment needs before its first file."""
    console = Console()
    with sentences():
        patient = Patient(find_target(name, region, local=local, aws=aws), spend=spend, read_only=read_only)
        findings = []
        for check, finding in examine(patient):
            findings.append((check, finding))
            if not as_json:
                show_finding(console, check, finding)
        report = Report(patient.target.where, findings)
    if as_json:
        print(json.dumps(report.to_json()))
    else:
        show_sum(console, report)
    raise typer.Exit(1 if report.problems else 0)
