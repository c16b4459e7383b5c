"""What the `prospects` table holds: uploads, their rows and what became of each object version. Pure data."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

UploadState = Literal["running", "needs_approval", "paused", "done"]
RowOutcome = Literal["classified", "failed", "unknown"]
ATTENTION = "attention"
"""Partition key of the sparse index that lists rows whose outcome may still change (unknown, retryable failure)."""


class _Item(BaseModel):
    # A broken item is reported by the names of its attributes: their values may be a file's name or header.
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    def to_item(self) -> dict[str, Any]:
        """As DynamoDB stores it; absent values are left out."""
        return self.model_dump(exclude_none=True)

    @classmethod
    def from_item(cls, item: dict[str, Any]) -> Self:
        return cls.model_validate(item)


ATTENTION_INDEX = "attention"


class Counts(BaseModel):
    """Of the records in the file: records = valid + rejected + duplicates + blank. `known` are among the valid."""

    model_config = ConfigDict(frozen=True)

    records: int = 0
    valid: int = 0
    rejected: int = 0
    duplicates: int = 0
    blank: int = 0
    known: int = 0


class RowCounts(BaseModel):
    """Of the terminal rows of an upload; classified + failed + unknown = valid when it is done.

    `known` were answered without a request of this upload. Money in integer micro-dollars: what the answers cost, and
    the most that requests cost of which no answer says it (`in_doubt_microusd`).
    """

    model_config = ConfigDict(frozen=True)

    classified: int = 0
    failed: int = 0
    unknown: int = 0
    known: int = 0
    cost_microusd: int = 0
    in_doubt_microusd: int = 0


class Upload(_Item):
    """META: one accepted object version under one prompt version, with its admission report.

    Times are seconds since the epoch. `task` and `columns` are what admission used: publishing, classifying and
    results go by them, never by what is deployed later. `checkpoint` is the number of the last record published in
    the current `generation`; `publisher_until` tells how long its publisher is certainly alive or dead by. `resumes`
    counts how often an operator let it go on, `sweeps` the passes of the sweep since then. `reserved_microusd` is
    committed on `budget_day` (empty: nothing was). From `rows_kept_until` on, items of its rows and records of their
    keys may be gone (TTL): a row without one may have been answered and paid, so nothing is published any more.
    """

    upload_id: str
    state: UploadState
    bucket: str
    object_key: str
    version_id: str
    sha256: str
    bytes: int
    created_at: int
    task: str
    prompt_version: str
    columns: tuple[str, ...]
    limits: dict[str, int]
    encoding: str
    encoding_guessed: bool
    delimiter: str
    header: tuple[str, ...]
    counts: Counts
    worst_case_microusd: int
    generation: int = 1
    checkpoint: int = 0
    published: bool = False
    publisher_until: int = 0
    finished_at: int | None = None
    rows: RowCounts = Field(default_factory=RowCounts)
    results_key: str | None = None
    revision: int = 0
    expires_at: int | None = None
    resumes: int = 0
    sweeps: int = 0
    pause_reason: str = ""
    paused_at: int | None = None
    budget_day: str = ""
    reserved_microusd: int = 0
    rows_kept_until: int | None = None

    def keeps_its_rows(self, now: float) -> bool:
        return self.rows_kept_until is None or now < self.rows_kept_until


class Finished(_Item):
    """What an upload's end adds to its META. `expires_at` (TTL) only where no row is unknown."""

    rows: RowCounts
    results_key: str
    finished_at: int
    expires_at: int | None = None


class RowItem(_Item):
    """A row's terminal item, written from the stored record of its key.

    `known`: answered without a request made for this row. `paid_attempts`: requests for its key that may have been
    billed. `attention` is set where the outcome may still change.
    """

    upload_id: str
    row_number: int
    line: int
    key: str
    outcome: RowOutcome
    label: str = ""
    reason: str = ""
    retryable: bool = False
    paid: bool = False
    paid_attempts: int = 0
    known: bool = False
    model: str = ""
    prompt_version: str = ""
    request_id: str = ""
    cost_microusd: int = 0
    attempt: int = 0
    finished_at: int = 0

    def to_item(self) -> dict[str, Any]:
        item = super().to_item()
        if self.outcome == "unknown" or (self.outcome == "failed" and self.retryable):
            item[ATTENTION] = ATTENTION
        return item


class AttentionRow(_Item):
    """What the sparse index holds of a row whose outcome could still change, as it was when it was read."""

    pk: str
    sk: str
    upload_id: str
    key: str
    outcome: RowOutcome
    attempt: int

    @property
    def row_number(self) -> int:
        return int(self.sk)


class ObjectItem(_Item):
    """What became of one object version: being worked on, an upload, or refused with a code and a sentence.

    `first`: this version made the upload's META; any later version with the same bytes only points to it. `begun_at`
    and `begun_before`: when the last attempt and the one before it began (seconds since the epoch).
    """

    object_key: str
    version_id: str
    size: int
    attempts: int
    upload_id: str | None = None
    first: bool = False
    refusal: str | None = None
    sentence: str | None = None
    begun_at: int = 0
    begun_before: int = 0

    @property
    def settled(self) -> bool:
        return self.upload_id is not None or self.refusal is not None


class Announcement(_Item):
    """What is still to be told of an upload: the outbox, so that a crash after a change of state loses no notice.

    `serial` tells announcements of one upload apart. Only that of a finished upload holds its text; the others are
    written from META when they are told.
    """

    kind: Literal["finished", "paused", "needs_approval"]
    serial: str
    subject: str = ""
    text: str = ""


class Progress(_Item):
    """What the last look saw: rows that had ended, and when that number last changed (seconds since the epoch)."""

    terminal: int = 0
    moved_at: int = 0


class OpenUpload(Progress):
    """An upload that is not finished, or of which something is still to be told.

    `next_look_at`: when counting its rows is worth while again (seconds since the epoch); moving it, conditionally on
    the value that was read, is also the claim of a look, so two ticks at once never work on one upload.
    """

    upload_id: str
    next_look_at: int = 0
    announcement: Announcement | None = None


class Budget(_Item):
    """One UTC day: what is reserved or spent, and what of it is spent, in micro-dollars."""

    committed_microusd: int = 0
    spent_microusd: int = 0
