"""What a check found: a state, a sentence of facts, and what to do about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

State = Literal["ok", "problem", "unknown", "not_meaningful"]


@dataclass(frozen=True, slots=True)
class Finding:
    """`found` is what was seen; `todo` what a person does about it, empty where nothing is to be done."""

    state: State
    found: str
    todo: str = ""


def ok(found: str) -> Finding:
    return Finding("ok", found)


def problem(found: str, todo: str) -> Finding:
    return Finding("problem", found, todo)


def unknown(found: str, todo: str) -> Finding:
    return Finding("unknown", found, todo)


def not_meaningful(why: str) -> Finding:
    """The check says nothing about this cloud; `why` completes "not meaningful here: …"."""
    return Finding("not_meaningful", why)


@dataclass(frozen=True, slots=True)
class Report:
    """All checks of one run, in order, by name."""

    where: str
    findings: Sequence[tuple[str, Finding]]

    @property
    def problems(self) -> int:
        return sum(finding.state == "problem" for _, finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """The members and their order are a contract (docs/commands.md)."""
        return {
            "where": self.where,
            "problems": self.problems,
            "checks": [
                {"check": name, "state": finding.state, "found": finding.found, "do": finding.todo or None}
                for name, finding in self.findings
            ],
        }
