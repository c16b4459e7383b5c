"""The results CSV: its bytes, its columns, and the cells that a spreadsheet must not run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from functions.finish.spreadsheet import CHUNK_CHARACTERS, ResultRow, neutral, result_header, results_csv
from tests.unit.csv_world import read

OURS = ("label", "reason", "model", "prompt_version", "request_id")


def test_the_file_has_a_mark_crlf_and_our_columns_after_theirs() -> None:
    row = ResultRow(("Zoë", "z@example.com"), "hot", "", "model-1", "classify-prospect@0123", "req_1")
    data = b"".join(results_csv(("Name", "E-Mail"), [row]))
    assert data == (
        b"\xef\xbb\xbfName,E-Mail,label,reason,model,prompt_version,request_id\r\n"
        b"Zo\xc3\xab,z@example.com,hot,,model-1,classify-prospect@0123,req_1\r\n"
    )


def test_a_file_without_rows_is_its_header() -> None:
    assert b"".join(results_csv(("Name",), [])).decode("utf-8-sig") == ",".join(("Name", *OURS)) + "\r\n"


@pytest.mark.parametrize(
    ("header", "ours"),
    [
        (("name", "email"), OURS),
        (("Label", "email"), ("label 2", *OURS[1:])),
        (("label", " LABEL 2 ", "request_id"), ("label 3", "reason", "model", "prompt_version", "request_id 2")),
    ],
)
def test_a_column_of_the_file_keeps_its_name_and_ours_is_numbered(
    header: tuple[str, ...], ours: tuple[str, ...]
) -> None:
    assert result_header(header) == (*header, *ours)


def test_every_row_has_the_same_columns_whatever_the_record_had() -> None:
    rows = [ResultRow(("a",), reason="too_few_fields"), ResultRow(("a", "b", "c", "d"), reason="too_many_fields")]
    text = b"".join(results_csv(("x", "y", "z"), rows)).decode("utf-8-sig")
    assert [line.split(",")[:5] for line in text.splitlines()[1:]] == [
        ["a", "", "", "", "too_few_fields"],
        ["a", "b", "c", "", "too_many_fields"],
    ]


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        "+1+1",
        "-2+3",
        "@SUM(1,1)",
        "\t=1+1",
        "\tplain",
        "\rplain",
        "\nplain",
        "  \tplain",
        "   =1+1",
        "\u00a0=1+1",
        "\u3000=1+1",
        "\u200b=1+1",
        "\ufeff=1+1",
        "\u202e=1+1",
        "\0=1+1",
        "\x1f =1+1",
        "\n\n@x",
        "＝1+1",
        "＋1",
        "－1",
        "＠SUM(1)",
        "﹦1",
        "-",
        "+",
        "+49 30 1234 x",
        "+49-30-1234",
        "-5",
        "\t+49 30 1234",
    ],
)
def test_a_hostile_cell_gets_an_apostrophe_and_loses_nothing(cell: str) -> None:
    assert neutral(cell) == "'" + cell.replace("\0", "\ufffd").replace("\x1f", "\ufffd")


@pytest.mark.parametrize(
    "cell",
    [
        *("", " ", "Ann", "a=b", "1-2", "O'Neil", "'quoted'", "null", "<b>bold</b>", "a@example.com"),
        *("01067", "1E5", "+49 30 1234", " +49301234", "00 49 30"),
        *("two\n- lines", "\u2013 dash", "林 青禾", "\u200bAnn"),
    ],
)
def test_any_other_cell_is_written_as_it_is(cell: str) -> None:
    assert neutral(cell) == cell


def test_hostile_headers_and_hostile_values_of_ours_are_neutralised_too() -> None:
    text = b"".join(results_csv(("=cmd",), [ResultRow(("x",), request_id="=1+1")])).decode("utf-8-sig")
    assert text.splitlines() == ["'=cmd," + ",".join(OURS), "x,,,,,'=1+1"]


def test_chunks_are_written_while_rows_are_read() -> None:
    taken = 0

    def rows() -> Iterator[ResultRow]:
        nonlocal taken
        for number in range(10_000):
            taken = number
            yield ResultRow(("x" * 100,))

    chunks = results_csv(("notes",), rows())
    first = next(chunks)
    assert taken < 1_000
    sizes = [len(first), *map(len, chunks)]
    assert max(sizes) < CHUNK_CHARACTERS + 200
    assert len(sizes) > 10


cells = st.text(st.sampled_from('ab=+-@",;\t\r\n \u00a0\u200b＝é林😀\0'), max_size=10)


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(st.lists(cells, min_size=1, max_size=1), min_size=1, max_size=6))
def test_reading_what_was_written_gives_the_cells_back(rows: list[list[str]]) -> None:
    written = [ResultRow(("Ann", "ann@example.com", *row), label="hot") for row in rows]
    found = read(b"".join(results_csv(("Name", "E-mail", "Notes"), written)))
    assert [record.cells[:4] for record in found.records] == [
        ("Ann", "ann@example.com", neutral(row[0]), "hot") for row in rows
    ]
    assert found.outcomes() == ["valid"] + ["duplicate_in_file"] * (len(rows) - 1)


@settings(max_examples=200, deadline=None)
@given(cell=cells)
def test_no_written_cell_begins_like_a_formula(cell: str) -> None:
    text = neutral(cell)
    assert text.lstrip(" \t\r\n\u00a0\u200b\ufffd")[:1] not in {"=", "+", "-", "@", "＝"}
    assert text.lstrip(" ")[:1] not in {"\t", "\r", "\n"}
    assert neutral(text) == text
