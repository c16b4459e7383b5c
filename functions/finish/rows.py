"""Every record of an upload with what became of it, in the order of the file, in memory that does not grow with it.

Rejected, duplicate and blank records have no item: they are found again by reading the same object version with the
same reader and the encoding, delimiter and limits that admission stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from functions.intake.records import open_csv
from functions.settings import Limits
from functions.uploads.model import RowItem, Upload

if TYPE_CHECKING:
    from functions.intake.records import Record

Ending = Literal["classified", "failed", "unknown", "rejected", "duplicate", "open"]
OpenSource = Callable[[Upload], Iterable[bytes]]
"""Opens the object version of an upload and gives its bytes in chunks."""


class RowItems(Protocol):
    """The part of the uploads table that is read."""

    def iter_rows(self, upload_id: str) -> Iterator[RowItem]: ...


class RowsDisagreeError(Exception):
    """The stored rows are not the rows of the file; nothing is written from them. Names the upload and the row."""

    def __init__(self, upload_id: str, row_number: int, what: str) -> None:
        super().__init__(f"upload {upload_id}, row {row_number}: {what}")


@dataclass(frozen=True, slots=True)
class RowResult:
    """One record that is not blank. `item` is its terminal item; only `classified`, `failed` and `unknown` have one.

    `label` of a duplicate is that of the record it repeats, empty while that one has none. `reason` is a code;
    `detail` the reader's sentence about it, where it has one (no cell values).
    """

    record: Record
    outcome: Ending
    label: str = ""
    reason: str = ""
    detail: str = ""
    item: RowItem | None = None


class _Labels:
    """The label of every record so far, one byte each."""

    def __init__(self) -> None:
        self._names = [""]
        self._codes = bytearray(1)

    def __getitem__(self, record_number: int) -> str:
        return self._names[self._codes[record_number]] if record_number < len(self._codes) else ""

    def __setitem__(self, record_number: int, label: str) -> None:
        if label not in self._names:
            self._names.append(label)
        self._codes.extend(bytes(record_number + 1 - len(self._codes)))
        self._codes[record_number] = self._names.index(label)


class _Items:
    """The items in row order, taken one by one as their records come."""

    def __init__(self, upload_id: str, items: Iterator[RowItem]) -> None:
        self._upload_id = upload_id
        self._items = items
        self._next = next(items, None)

    def of(self, record: Record) -> RowItem | None:
        item = self._next
        if item is None or item.row_number > record.number:
            return None
        if item.row_number < record.number:
            raise self._astray(item)
        self._next = next(self._items, None)
        return item

    def none_left(self) -> None:
        if self._next is not None:
            raise self._astray(self._next)

    def _astray(self, item: RowItem) -> RowsDisagreeError:
        return RowsDisagreeError(self._upload_id, item.row_number, "it has an outcome, but is no valid row of the file")


def read_rows(upload: Upload, open_source: OpenSource, table: RowItems) -> Iterator[RowResult]:
    """The records of the upload's object version that are not blank, each with its outcome; without one: `open`.

    Raises RowsDisagreeError where an item belongs to no valid record, and what opening the source raises.
    """
    limits = Limits.model_validate(upload.limits)
    file = open_csv(open_source(upload), limits, encoding=upload.encoding, delimiter=upload.delimiter)
    items = _Items(upload.upload_id, table.iter_rows(upload.upload_id))
    labels = _Labels()
    for record in file.records():
        if record.outcome == "blank":
            continue
        if record.outcome == "valid":
            result = _of_item(record, items.of(record))
            labels[record.number] = result.label
        else:
            label = labels[record.duplicate_of] if record.duplicate_of else ""
            result = RowResult(record, record.outcome, label, record.reason, record.detail)
        yield result
    items.none_left()


def _of_item(record: Record, item: RowItem | None) -> RowResult:
    if item is None:
        return RowResult(record, "open")
    return RowResult(record, item.outcome, item.label, item.reason, item=item)
