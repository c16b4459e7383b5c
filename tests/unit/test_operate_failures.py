"""Which records got no label, why, and what to do: one sentence for every code that the source can produce."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import pytest

import functions
from functions.classify.billing import BY_CAUSE, BY_CODE, BY_MESSAGE, BY_STATUS, PAUSES, NoAnswer
from functions.intake.refusals import Reason
from functions.operate.advice import ADVICE, UNTOLD, advice_of
from functions.operate.failures import failures
from tests.unit.classify_world import refused, said
from tests.unit.intake_world import HEADER, csv
from tests.unit.operate_world import OVERLOADED, Service, by_person, service

ROOT = Path(functions.__file__).parent
PRODUCERS = {"failed": 0, "unknown": 0, "released": 0, "give_up": 2, "Verdict": 1, "Met": 1, "fail": 3}
"""Calls that put a reason code into an outcome, a verdict or a row, and the position of the code among their arguments;
with a keyword it is `reason`."""


@pytest.fixture
def w() -> Iterator[Service]:
    with service() as made:
        yield made


def codes_in_the_source() -> dict[str, str]:
    """Every reason code that a producing call is given as a literal or by a constant's name, and where."""
    found: dict[str, str] = {}
    for path in sorted(ROOT.rglob("*.py")):
        name = ".".join(("functions", *path.relative_to(ROOT).with_suffix("").parts))
        for call in (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)):
            for code in _codes_of(call, name):
                found[code] = name
    return found


def _codes_of(call: ast.Call, module: str) -> Iterator[str]:
    called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    given = [keyword.value for keyword in call.keywords if keyword.arg == "reason"] if called == "item" else []
    if called in PRODUCERS and len(call.args) > PRODUCERS[called]:
        given.append(call.args[PRODUCERS[called]])
    for value in given:
        for part in _choices(value):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield part.value
            elif isinstance(part, ast.Name) and part.id.isupper():
                # A module that reads its environment at its import has no code of its own.
                yield getattr(importlib.import_module(module), part.id)


def _choices(value: ast.expr) -> Sequence[ast.expr]:
    if isinstance(value, ast.IfExp):
        return (value.body, value.orelse)
    return value.values if isinstance(value, ast.BoolOp) else (value,)


def test_the_search_finds_codes_of_every_kind() -> None:
    found = codes_in_the_source()
    assert {
        "llm_key_unavailable", "llm_connect_failed", "lease_expired_outcome_unknown", "answer_lost", "key_mismatch",
        "nothing_to_classify", "operator_rerun", "handler_error",
    } <= found.keys()  # fmt: skip


def test_every_code_that_the_source_can_produce_has_advice() -> None:
    verdicts = (*BY_CAUSE.values(), *BY_STATUS.values(), *BY_CODE.values(), *(verdict for _, _, verdict in BY_MESSAGE))
    answers = importlib.import_module("functions.classify.answers")
    codes = {
        *codes_in_the_source(),
        *get_args(Reason),
        *(verdict.reason for verdict in verdicts),
        *PAUSES,
        *(answers.TRUNCATED, answers.REFUSED, answers.INVALID, answers.UNREADABLE),
    } - {""}
    assert codes - ADVICE.keys() == set()
    assert ADVICE.keys() - codes == set(), "advice for what cannot happen"


def test_each_advice_is_one_sentence_and_only_a_pause_is_resumed() -> None:
    for code, advice in ADVICE.items():
        assert advice.endswith("."), code
        assert ". " not in advice, code
        assert ("resume the upload" in advice) == (code in PAUSES), code


def test_a_code_of_another_version_says_where_to_look() -> None:
    assert advice_of("of_another_version") == UNTOLD


def test_each_record_without_a_label_is_listed_in_the_order_of_the_file(w: Service) -> None:
    body = csv(5) + b"no-address,A,B\n,,\np1@example.com,Person 1,Firm 1\n"
    w.reply = by_person({"2": said("maybe"), "3": OVERLOADED, "4": NoAnswer("timed_out"), "5": refused(400)})
    upload = w.done(body)
    listed = list(failures(upload, w.open_source, w.table))
    assert [(one.row, one.line, one.outcome, one.reason, one.retryable) for one in listed] == [
        (2, 3, "failed", "invalid_label", False),
        (3, 4, "failed", "llm_overloaded", True),
        (4, 5, "unknown", "llm_timeout_outcome_unknown", False),
        (5, 6, "failed", "llm_bad_request", False),
        (6, 7, "rejected", "invalid_email", False),
    ]
    assert all(one.advice == ADVICE[one.reason] for one in listed)
    assert listed[-1].detail
    assert "no-address" not in str(listed)
    assert "p2@" not in str(listed)


def test_while_it_runs_the_failures_of_now_are_listed(w: Service) -> None:
    upload = w.submit((HEADER + "no-address,A,B\na@example.com,Ann,A\n").encode())
    assert [one.row for one in failures(upload, w.open_source, w.table)] == [1]
