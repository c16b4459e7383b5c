"""What people see: every row, counts that add up, the stand-in named; and no text of a file drives the terminal."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from cli.progress import BarProgress, PlainProgress, doing, progress_on
from cli.render import MAX_ROWS, STAND_IN, show_run
from cli.reports import FileReport, RowReport, RunReport
from cli.uploading import Standing
from functions.text import one_line
from functions.uploads.model import Counts, ObjectItem, RowCounts, Upload
from tests.unit.test_finish_rows import an_upload


def a_console(**options: Any) -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    return Console(file=text, width=100, **options), text


def rows(count: int) -> list[RowReport]:
    return [RowReport(n, n + 1, "classified", "hot", "", "") for n in range(1, count + 1)]


def a_file(**changes: Any) -> FileReport:
    values: dict[str, Any] = {
        "file": "leads.csv",
        "state": "done",
        "counts": Counts(records=6, valid=3, rejected=1, duplicates=1, blank=1),
        "ended": RowCounts(classified=2, unknown=1, known=1, cost_microusd=1_234_567),
        "rows": [*rows(2), RowReport(4, 5, "rejected", "", "too_many_fields", "6 fields, the header has 5.")],
        "labels": {"hot": 2},
        "upload_id": "u-1",
        "results_csv": "results/u-1.csv",
    }
    return FileReport(**(values | changes))


def shown(*files: FileReport, model_requests: int | None = 3, answered_by: str = STAND_IN, **letters: int) -> str:
    console, text = a_console()
    show_run(console, RunReport(files, model_requests, letters), answered_by)
    return text.getvalue()


def test_a_file_is_shown_with_each_row_its_counts_money_and_results() -> None:
    text = shown(a_file())
    assert "leads.csv: done" in text
    assert "too_many_fields: 6 fields, the header has 5." in text
    assert "records 6 = 3 valid + 1 rejected + 1 duplicate + 1 blank" in text
    assert "valid   3 = 2 classified + 0 failed + 1 unknown" in text
    assert "cost    1.234567 USD" in text
    assert "results results/u-1.csv" in text


def test_the_stand_in_is_named_wherever_its_labels_are_shown() -> None:
    text = shown(a_file())
    assert "label (stand-in)" in text
    assert f"Labels by: {STAND_IN}" in text
    assert "Model requests: 3" in text


def test_another_answerer_is_named_and_no_number_of_requests_is_claimed() -> None:
    text = shown(a_file(), model_requests=None, answered_by="Claude")
    assert "stand-in" not in text
    assert "Model requests" not in text


def test_a_large_file_shows_its_first_rows_and_says_where_the_others_are() -> None:
    text = shown(a_file(rows=rows(MAX_ROWS + 1_140)))
    assert text.count("classified │") == MAX_ROWS
    assert "1,140 more rows; the results CSV has them all" in text


def test_a_refused_file_shows_its_sentence_alone() -> None:
    refused = FileReport("x.pdf", "refused", Counts(), RowCounts(), code="not_csv", sentence="This is a PDF.")
    text = shown(refused)
    assert "x.pdf: refused\n  This is a PDF.\n" in text
    assert "records" not in text


def test_rows_that_are_still_open_are_counted() -> None:
    assert "+ 1 still open" in shown(a_file(state="running", ended=RowCounts(classified=2)))


def test_a_repeat_and_a_guessed_encoding_are_said() -> None:
    text = shown(a_file(repeated=True, encoding_guessed=True))
    assert "uploaded before" in text
    assert "Windows-1252, which is a guess" in text


def test_dead_letters_are_named_by_their_queue() -> None:
    assert "Dead letters: none" in shown(a_file(), **{"classify-dlq": 0})
    assert "Dead letters: 2 in classify-dlq" in shown(a_file(), **{"classify-dlq": 2, "intake-failures": 0})


def test_text_of_a_file_is_neither_markup_nor_a_command_to_the_terminal() -> None:
    hostile = "[red]x[/red]\x1b[2J\r\n"
    text = shown(a_file(file=hostile, rows=[RowReport(1, 2, "rejected", hostile, "r", hostile)]))
    assert "\x1b" not in text
    assert text.count("[red]x[/red]") >= 2
    assert one_line(hostile) == "[red]x[/red]\ufffd[2J\ufffd\ufffd"


def test_a_name_with_letters_of_any_script_stays_as_it_is() -> None:
    assert one_line("Größe Привет 顧客.csv") == "Größe Привет 顧客.csv"


def a_standing(terminal: int, **changes: Any) -> Standing:
    item = ObjectItem(object_key="uploads/a.csv", version_id="v1", size=1, attempts=1, upload_id="u-1")
    upload: Upload = an_upload(**changes)
    return Standing(item, upload, terminal)


def test_progress_without_a_terminal_is_plain_lines_and_not_one_per_look() -> None:
    console, text = a_console()
    now = iter([0.0, 0.5, 1.0, 3.0, 3.1])
    with PlainProgress(console, clock=lambda: next(now)).file("leads.csv") as watched:
        for terminal in (0, 1, 2):
            watched.update(a_standing(terminal))
        watched.update(a_standing(2, object_key="uploads/b.csv"))
        watched.update(a_standing(3, state="done"))
    assert text.getvalue().splitlines() == [
        "leads.csv: classifying, 0 of 3 rows",
        "leads.csv: classifying, 2 of 3 rows",
        "leads.csv: done, 3 of 3 rows",
    ]


def test_progress_at_a_terminal_is_a_bar_that_is_gone_afterwards() -> None:
    console, text = a_console(force_terminal=True, color_system=None)
    with progress_on(console) as progress:
        assert isinstance(progress, BarProgress)
        progress.stage("Deploying the stacks")
        with progress.file("leads.csv") as watched:
            watched.update(a_standing(2))
        progress.note("something to know")
    written = text.getvalue()
    assert "Deploying the stacks" in written
    assert "2/3 rows" in written
    assert "something to know" in written
    # Shown cursor, cleared line: the terminal is itself again.
    assert written.rindex("\x1b[?25h") > written.rindex("\x1b[?25l")


@pytest.mark.parametrize(
    ("standing", "words"),
    [
        (Standing(), "waiting for its event"),
        (Standing(ObjectItem(object_key="k", version_id="v", size=1, attempts=1)), "reading and pricing"),
        (Standing(ObjectItem(object_key="k", version_id="v", size=1, attempts=1, refusal="x")), "refused"),
        (a_standing(1), "classifying"),
        (a_standing(3), "writing the results"),
        (a_standing(0, state="needs_approval"), "waiting for approval"),
        (a_standing(3, state="done"), "done"),
    ],
)
def test_what_goes_on_is_said_in_words(standing: Standing, words: str) -> None:
    assert doing(standing) == words


def test_the_columns_that_the_model_is_shown_are_named_and_so_are_the_others() -> None:
    text = shown(a_file(shown_columns=[("email", "E-Mail"), ("title", "Position")], other_columns=["Firma"]))
    assert "columns email (E-Mail), title (Position); not shown to the model: Firma" in text


def test_each_reason_without_a_label_says_once_what_to_do() -> None:
    failed = [RowReport(n, n + 1, "failed", "", "llm_overloaded", "") for n in (1, 2)]
    text = shown(a_file(rows=failed))
    assert text.count("llm_overloaded: Nothing was billed; retry the upload's failures") == 1


def test_what_was_not_paid_is_not_called_a_cost() -> None:
    assert "1.234567 USD (what these requests would have cost)" in shown(a_file())
    assert "would have cost" not in shown(a_file(), answered_by="Claude")
