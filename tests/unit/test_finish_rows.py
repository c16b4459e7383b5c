"""Every record that is not blank comes back once, in order, with what became of it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Sequence

import pytest

from functions.classify.prices import worst_case_microusd
from functions.classify.task import Task
from functions.finish.rows import RowsDisagreeError, read_rows
from functions.finish.tally import FIRST_ROWS, Tally
from functions.settings import Limits
from functions.uploads.model import Counts, RowItem, Upload
from tests.unit.finish_world import CSV, START, a_row

MODEL = "claude-haiku-5-5"


class Stored:
    """Row items in place of the table."""

    def __init__(self, rows: Sequence[RowItem]) -> None:
        self.rows = rows

    def iter_rows(self, upload_id: str) -> Iterator[RowItem]:
        assert upload_id == "u-1"
        return iter(self.rows)


def an_upload(**changes: object) -> Upload:
    values: dict[str, object] = {
        "upload_id": "u-1",
        "state": "running",
        "bucket": "b",
        "object_key": "uploads/a.csv",
        "version_id": "v1",
        "sha256": "00",
        "bytes": len(CSV),
        "created_at": START,
        "task": "{}",
        "prompt_version": "t@1",
        "columns": ("email", "name"),
        "limits": Limits().model_dump(),
        "encoding": "utf-8",
        "encoding_guessed": False,
        "delimiter": ",",
        "header": ("name", "email", "notes"),
        "counts": Counts(records=6, valid=3, rejected=1, duplicates=1, blank=1),
        "worst_case_microusd": 1,
    }
    return Upload.model_validate(values | changes)


def read(*rows: RowItem, csv: bytes = CSV, upload: Upload | None = None) -> list[tuple[int, int, str, str, str]]:
    results = read_rows(upload or an_upload(), lambda _: [csv], Stored(rows))
    return [(r.record.number, r.record.line, r.outcome, r.label, r.reason) for r in results]


def test_items_rejections_and_duplicates_are_merged_in_the_order_of_the_file() -> None:
    assert read(a_row(1), a_row(5, "failed", reason="llm_truncated"), a_row(6, "unknown", reason="llm_timeout")) == [
        (1, 2, "classified", "hot", ""),
        (2, 3, "rejected", "", "invalid_email"),
        (3, 4, "duplicate", "hot", "duplicate_in_file"),
        (5, 6, "failed", "", "llm_truncated"),
        (6, 8, "unknown", "", "llm_timeout"),
    ]


def test_a_valid_row_without_an_item_is_open_and_its_duplicate_has_no_label() -> None:
    outcomes = {number: (outcome, label) for number, _, outcome, label, _ in read(a_row(6))}
    assert outcomes[1] == ("open", "")
    assert outcomes[3] == ("duplicate", "")
    assert outcomes[5] == ("open", "")
    assert outcomes[6] == ("classified", "hot")


def test_a_duplicate_of_a_row_that_failed_has_no_label() -> None:
    assert read(a_row(1, "failed", reason="no_label"))[2] == (3, 4, "duplicate", "", "duplicate_in_file")


@pytest.mark.parametrize("row_number", [2, 4, 7])
def test_an_item_that_belongs_to_no_valid_record_is_an_error_that_names_it(row_number: int) -> None:
    with pytest.raises(RowsDisagreeError, match=f"u-1, row {row_number}:"):
        read(a_row(row_number))


def test_the_file_is_read_with_what_admission_stored_not_by_guessing_again() -> None:
    csv = "name;email\nJosé Ibáñez;jose@example.com\n".encode("cp1252")
    upload = an_upload(encoding="cp1252", delimiter=";")
    assert read(a_row(1), csv=csv, upload=upload) == [(1, 2, "classified", "hot", "")]


def test_memory_does_not_hold_the_file() -> None:
    records = 15_000

    def chunks() -> Iterator[bytes]:
        yield b"name,email,notes\n"
        for number in range(1, records + 1):
            yield b"N %d,n%d@example.com,%s\n" % (number, number, b"x" * 500)

    class Many(Stored):
        def iter_rows(self, upload_id: str) -> Iterator[RowItem]:
            return (a_row(number) for number in range(1, records + 1))

    tracemalloc.start()
    try:
        count = sum(1 for _ in read_rows(an_upload(bytes=1), lambda _: chunks(), Many([])))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == records
    # 8 MB of file; what may stay is a digest and a byte per record.
    assert peak < 2_500_000


def test_a_tally_adds_up_outcomes_labels_money_and_reasons() -> None:
    tally = Tally(an_upload())
    items = (a_row(1, known=True, cost_microusd=0), a_row(5, "failed", reason="no_label", cost_microusd=7), a_row(6))
    passed = list(tally.of(read_rows(an_upload(), lambda _: [CSV], Stored(items))))
    assert len(passed) == 5
    counts = tally.row_counts()
    assert (counts.classified, counts.failed, counts.unknown, counts.known, counts.cost_microusd) == (2, 1, 0, 1, 107)
    assert tally.terminal == 3
    assert tally.labels == {"hot": 2}
    assert tally.reasons == {("rejected", "invalid_email"): 1, ("failed", "no_label"): 1}
    assert tally.first_rows == [(2, 3, "rejected", "invalid_email"), (5, 6, "failed", "no_label")]


def test_a_request_whose_cost_nobody_told_is_in_doubt_at_its_worst_case_where_it_was_made() -> None:
    task = Task(model=MODEL, max_tokens=32, columns=("name", "email"))
    upload = an_upload(task=task.model_dump_json())
    unknown = {"reason": "no_answer", "cost_microusd": 0, "paid_attempts": 1}
    alone, known, twice, answered = (
        a_row(1, "unknown", **unknown),
        a_row(1, "unknown", **unknown, known=True),
        a_row(1, "unknown", **unknown | {"paid_attempts": 2}),
        a_row(1, cost_microusd=7, paid_attempts=2),
    )

    def in_doubt(item: RowItem) -> int:
        tally = Tally(upload)
        list(tally.of(read_rows(upload, lambda _: [CSV], Stored((item,)))))
        return tally.row_counts().in_doubt_microusd

    record = next(each.record for each in read_rows(upload, lambda _: [CSV], Stored((alone,))))
    worst = worst_case_microusd(task, task.rendered(record.fields))
    assert (in_doubt(alone), in_doubt(known), in_doubt(twice)) == (worst, 0, 2 * worst)
    assert (in_doubt(answered), in_doubt(a_row(1, cost_microusd=7, paid_attempts=1))) == (worst, 0)


def test_a_tally_names_only_the_first_rows_and_counts_all() -> None:
    csv = b"name,email\n" + b"".join(b"N,nowhere-%d\n" % number for number in range(FIRST_ROWS + 5))
    tally = Tally(an_upload())
    assert len(list(tally.of(read_rows(an_upload(), lambda _: [csv], Stored(()))))) == FIRST_ROWS + 5
    assert len(tally.first_rows) == FIRST_ROWS
    assert tally.reasons == {("rejected", "invalid_email"): FIRST_ROWS + 5}
