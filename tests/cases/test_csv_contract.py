"""The acceptance cases of the CSV contract, by kind: what the reader alone decides, before anything is published.

`data/` holds the cases as they were handed over; the three large ones are made here and compared by their digest.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from functions.finish.spreadsheet import ResultRow, results_csv
from tests.unit.csv_world import Reading, read

DATA = Path(__file__).parent / "data"
HEADER = "name,email,company,title,notes\r\n"


def _leads(count: int, padding: str = "") -> str:
    rows = (
        f"Lead {n:06d},lead{n:06d}@example.com,Firm {n % 97:02d},Buyer,Row {n} of {count}{padding}\r\n"
        for n in range(1, count + 1)
    )
    return HEADER + "".join(rows)


def _with_one_long_note() -> str:
    rows = (DATA / "A01.csv").read_text(encoding="utf-8-sig").splitlines()[1:]
    ada, _, cleo = (",".join([name, email, *rest]) for email, name, *rest in csv.reader(rows))
    long = "Bram Osei,bram.osei@example.com,Tallow Finch Ltd,Analyst," + ("long note " * 14_000).strip()
    return HEADER + "\r\n".join([ada, long, cleo, ""])


GENERATED: dict[str, Callable[[], str]] = {
    "A10": _with_one_long_note,
    "A18": lambda: _leads(2001),
    "A37": lambda: _leads(1200, " " + "x" * 1000),
}


def case(name: str) -> tuple[bytes, dict[str, Any]]:
    expected = json.loads((DATA / f"{name}.expected.json").read_text())
    data = GENERATED[name]().encode() if name in GENERATED else (DATA / f"{name}.csv").read_bytes()
    assert hashlib.sha256(data).hexdigest() == expected["sha256"]
    return data, expected


def _read(name: str) -> Reading:
    return read(case(name)[0])


NAMES = [*sorted(path.name.split(".")[0] for path in DATA.glob("A[01]*.expected.json")), "A37"]
REFUSED = {"A08": "duplicate_header", "A09": "no_data_rows", "A16": "not_csv"}


@pytest.mark.parametrize("name", [pytest.param(name, id=f"{case(name)[1]['kind']}-{name}") for name in NAMES])
def test_case(name: str) -> None:
    data, expected = case(name)
    found = read(data)
    assert found.code == REFUSED.get(name, "")
    by_outcome = [record.outcome for record in found.records]
    assert by_outcome.count("valid") == expected["rows_valid"]
    assert by_outcome.count("blank") == expected["rows_blank_skipped"]
    # The cases count a duplicate among the rejected and give it the reason that we give it.
    assert by_outcome.count("rejected") + by_outcome.count("duplicate") == expected["rows_rejected"]
    faults = [{"record": record.number, "reason": record.reason} for record in found.records if record.reason]
    assert faults == expected["rejections"]
    if expected["first_row"]:
        first = {**expected["first_row"], "email": expected["first_row"]["email"].lower()}
        assert found.records[0].fields == first


def test_csv_bom_leaves_no_mark_anywhere() -> None:
    found = _read("A01")
    assert found.header[0] == "email"
    assert "\ufeff" not in "".join([*found.header, *(cell for record in found.records for cell in record.cells)])


def test_csv_cp1252_letters_are_intact_and_the_guess_is_known() -> None:
    found = _read("A03")
    assert found.encoding == "cp1252"
    assert found.records[1].fields["name"] == "José Ibáñez"
    assert found.records[2].fields["company"] == "François & Fils"


def test_csv_line_breaks_stay_in_the_note_and_lines_are_counted() -> None:
    found = _read("A05")
    assert found.records[1].cells[4] == "Called twice.\nLeft a voicemail.\nTry again in May, please."
    assert [(record.number, record.line) for record in found.records] == [(1, 2), (2, 3), (3, 6)]


def test_csv_quotes_are_kept_as_typed() -> None:
    assert _read("A06").records[1].cells[2:] == ('Box 24" Racks', "Buyer", 'Needs 12" and 24" sizes')


def test_csv_ragged_is_told_with_counts_and_line() -> None:
    record = _read("A07").records[1]
    assert (record.line, record.detail) == (3, "6 fields, the header has 5.")


def test_csv_headers_duplicate_is_named_with_its_columns() -> None:
    assert "email more than once (columns 2 and 6)" in _read("A08").sentence


def test_csv_empty_file_says_no_data_rows() -> None:
    assert "no data rows" in _read("A09").sentence


def test_csv_nul_byte_is_named_with_its_line() -> None:
    assert _read("A11").records[1].detail == "Line 3 holds the control character U+0000 (NUL)."


def test_csv_values_are_text_byte_for_byte_up_to_the_results() -> None:
    data, _ = case("A12")
    found = read(data)
    rows = _results(found)
    written = list(csv.reader(io.StringIO(data.decode(), newline="")))
    assert [row[:7] for row in rows] == written


def test_csv_non_ascii_code_points_survive_up_to_the_results() -> None:
    data, _ = case("A13")
    written = list(csv.reader(io.StringIO(data.decode(), newline="")))
    assert [row[:5] for row in _results(read(data))] == written


def test_wrong_file_type_says_what_it_is_and_what_to_do() -> None:
    sentence = _read("A16").sentence
    assert "an Excel workbook" in sentence
    assert "CSV UTF-8" in sentence


def test_spreadsheet_injection_is_neutralised_in_the_results_and_stored_unchanged() -> None:
    found = _read("A19")
    assert found.records[0].cells[0] == "=1+1"
    cells = [cell for row in _results(found) for cell in row]
    assert [cell for cell in cells if cell.lstrip().startswith(("=", "+", "-", "@", "\t", "\r"))] == []
    assert {"'=1+1", "'@SUM(1,1)", "'-2+3", "'\t=1+1"} <= set(cells)
    assert "<script>document.title='x'</script>" in cells


def _results(found: Reading) -> list[list[str]]:
    rows = (ResultRow(record.cells, label="warm") for record in found.records)
    text = b"".join(results_csv(found.header, rows)).decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))
