"""What became of a file, as data: the object that `--json` prints and the tables are made of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cli.uploading import Standing
from functions.finish.rows import OpenSource, RowItems, RowResult, read_rows
from functions.finish.tally import Tally
from functions.intake.header import FIRST_NAME, LAST_NAME, NAME, resolve
from functions.uploads.model import Counts, RowCounts, Upload


@dataclass(frozen=True, slots=True)
class RowReport:
    """One record that is not blank and has ended. `line`: its first in the file; `detail`: a sentence or empty."""

    row: int
    line: int
    outcome: str
    label: str
    reason: str
    detail: str

    @classmethod
    def of(cls, result: RowResult) -> RowReport:
        record = result.record
        return cls(record.number, record.line, result.outcome, result.label, result.reason, result.detail)

    def to_json(self) -> dict[str, Any]:
        return {
            "row": self.row,
            "line": self.line,
            "outcome": self.outcome,
            "label": self.label or None,
            "reason": self.reason or None,
        }


@dataclass(frozen=True, slots=True)
class FileReport:
    """One file's end, or where it stands. Money in integer micro-dollars; `distinct` counts its rows' different keys.

    A repeat of an earlier file reports that upload's rows, all of them known, at no cost.
    """

    file: str
    state: str
    counts: Counts
    ended: RowCounts
    rows: Sequence[RowReport] = ()
    labels: Mapping[str, int] | None = None
    distinct: int = 0
    upload_id: str | None = None
    code: str | None = None
    """Why it was refused."""
    sentence: str | None = None
    repeated: bool = False
    encoding_guessed: bool = False
    shown_columns: Sequence[tuple[str, str]] = ()
    """What the model is shown: canonical name and the file's own header."""
    other_columns: Sequence[str] = ()
    results_csv: str | None = None

    @property
    def finished(self) -> bool:
        return self.state == "done"

    @property
    def open_rows(self) -> int:
        """Valid rows that have not ended."""
        return self.counts.valid - self.ended.classified - self.ended.failed - self.ended.unknown

    def to_json(self) -> dict[str, Any]:
        """The members and their order are a contract."""
        return {
            "file": self.file,
            "upload_id": self.upload_id,
            "state": self.state,
            "reason": self.sentence and f"{self.code}: {self.sentence}",
            **{name: getattr(self.counts, name) for name in ("records", "valid", "rejected", "duplicates", "blank")},
            **{name: getattr(self.ended, name) for name in ("known", "classified", "failed", "unknown")},
            "cost_microusd": self.ended.cost_microusd,
            "rows": [row.to_json() for row in self.rows],
            "results_csv": self.results_csv,
        }


@dataclass(frozen=True, slots=True)
class RunReport:
    """All files of one run. `model_requests` is None where something else than the stand-in answers."""

    files: Sequence[FileReport]
    model_requests: int | None
    dead_letters: Mapping[str, int]

    @property
    def all_done(self) -> bool:
        return all(file.finished for file in self.files)

    def to_json(self) -> str:
        everything = {
            "files": [file.to_json() for file in self.files],
            "model_requests": self.model_requests,
            "dead_letters": dict(self.dead_letters),
        }
        # ASCII, so that no locale can refuse to print it.
        return json.dumps(everything)


def file_report(
    file: str, standing: Standing, open_source: OpenSource, table: RowItems, results_csv: str | None
) -> FileReport:
    """Read the rows of an upload and put its report together."""
    item, upload = standing.item, standing.upload
    if item is not None and item.refusal is not None:
        return FileReport(file, "refused", Counts(), RowCounts(), code=item.refusal, sentence=item.sentence)
    if item is None or upload is None:
        return FileReport(file, "running", Counts(), RowCounts())
    tally, keys, rows = Tally(upload), set[str](), list[RowReport]()
    for result in tally.of(read_rows(upload, open_source, table)):
        if result.outcome != "open":
            rows.append(RowReport.of(result))
        if result.item is not None:
            keys.add(result.item.key)
    shown, others = _columns(upload)
    return FileReport(
        file,
        upload.state,
        upload.counts,
        _ended(tally.row_counts(), upload, first=item.first),
        rows=rows,
        labels=dict(sorted(tally.labels.items())),
        distinct=len(keys),
        upload_id=upload.upload_id,
        repeated=not item.first,
        encoding_guessed=upload.encoding_guessed,
        shown_columns=shown,
        other_columns=others,
        results_csv=results_csv,
    )


def _columns(upload: Upload) -> tuple[list[tuple[str, str]], list[str]]:
    """Of the file's headers: those the model is shown, with what they were taken for, and all others."""
    header = resolve(upload.header)
    shown, others = [], []
    for written, key in zip(header.written, header.keys, strict=True):
        # A name may be made of two columns, which are then shown as one.
        as_shown = NAME if key in {FIRST_NAME, LAST_NAME} and NAME not in header.columns else key
        if as_shown in upload.columns:
            shown.append((str(key), written))
        elif written:
            others.append(written)
    return shown, others


def _ended(ended: RowCounts, upload: Upload, *, first: bool) -> RowCounts:
    if first:
        return ended
    return ended.model_copy(update={"known": upload.counts.valid, "cost_microusd": 0})
