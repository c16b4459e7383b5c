"""The records of an upload that got no label: where they stand, why, and what a person can do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from functions.finish.rows import OpenSource, RowItems, RowResult, read_rows
from functions.operate.advice import advice_of
from functions.uploads.model import Upload

Outcome = Literal["failed", "unknown", "rejected"]
_TOLD: dict[str, Outcome] = {"failed": "failed", "unknown": "unknown", "rejected": "rejected"}


@dataclass(frozen=True, slots=True)
class Failure:
    """One record. `row` and `line` as the file counts them (from 1; the line is the record's first).

    `reason` is a code, `detail` the reader's sentence about a rejected one (no cell values), `advice` one sentence.
    `retryable`: `retry` takes it.
    """

    row: int
    line: int
    outcome: Outcome
    reason: str
    detail: str
    advice: str
    retryable: bool


def failures(upload: Upload, open_source: OpenSource, table: RowItems) -> Iterator[Failure]:
    """Every record that ended without a label, in the order of the file; duplicates repeat another record's end.

    While the upload runs, those of now. Raises what reading the source raises.
    """
    for result in read_rows(upload, open_source, table):
        if told := _TOLD.get(result.outcome):
            yield _failure(result, told)


def _failure(result: RowResult, outcome: Outcome) -> Failure:
    retryable = result.item is not None and outcome == "failed" and result.item.retryable
    advice = advice_of(result.reason)
    return Failure(
        row=result.record.number,
        line=result.record.line,
        outcome=outcome,
        reason=result.reason,
        detail=result.detail,
        advice=advice,
        retryable=retryable,
    )
