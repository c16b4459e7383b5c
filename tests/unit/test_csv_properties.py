"""What holds for every file: any bytes end in a report, cuts do not matter, and well-formed CSV is read as by `csv`."""

from __future__ import annotations

import csv
import io
import itertools
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from functions.intake import decode
from functions.intake.dialect import Dialect
from functions.intake.oversize import measure
from functions.settings import Limits
from tests.unit.csv_world import HEADER, Reading, person, read, read_chunks

SMALL = Limits(max_field_bytes=40, max_record_bytes=80)

# Pieces that meet every rule of the contract, and each other, more often than random bytes would.
PIECES = [
    b",",
    b";",
    b"\t",
    b'"',
    b'""',
    b"\r",
    b"\n",
    b"\r\n",
    b" ",
    b"=",
    b"x",
    b"Ann",
    b"a@example.com",
    b"b@EXAMPLE.com",
]
PIECES += [b"\0", b"\x1b", b"\xe9", "é".encode(), "林".encode(), "😀".encode(), b"\xef\xbb\xbf", b"\xff\xfe"]
PIECES += [b"y" * 39, b"z" * 90, b"name,email\r\n", b"sep=;\r\n", b"Ann,c@example.com\r\n", b'"Bob",d@example.com\r\n']

texts = st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join)
files = st.one_of(st.binary(max_size=200), texts, texts.map(b"name,email,notes\r\n".__add__))


def _is_a_report(found: Reading, limits: Limits) -> bool:
    """A refusal with a sentence, or records numbered from 1 on rising lines, each with one outcome and its reason."""
    if found.code:
        return found.sentence.endswith(".") and not found.records
    numbers = [record.number for record in found.records]
    lines = [record.line for record in found.records]
    told = all(
        bool(record.reason) == bool(record.detail) == (record.outcome in {"rejected", "duplicate"})
        and (record.outcome == "duplicate") == (record.duplicate_of is not None)
        and (not record.fields or {"email", "name"} <= set(record.fields))
        for record in found.records
    )
    return numbers == list(range(1, len(numbers) + 1)) and lines == sorted(set(lines)) and told


@settings(max_examples=400, deadline=None)
@given(data=files)
def test_any_bytes_end_in_a_report(data: bytes) -> None:
    assert _is_a_report(read(data, SMALL), SMALL)


@settings(max_examples=150, deadline=None)
@given(data=files, cuts=st.lists(st.integers(0, 400), max_size=6), block=st.integers(1, 40))
def test_how_the_bytes_arrive_does_not_matter(data: bytes, cuts: list[int], block: int) -> None:
    whole = read(data, SMALL)
    places = [0, *sorted(cuts), len(data)]
    chunks = [data[start:end] for start, end in itertools.pairwise(places)]
    assert read_chunks(chunks, SMALL) == whole
    assert read_chunks([data[place : place + 1] for place in range(len(data))], SMALL) == whole
    if data.startswith(b"name,email"):
        with patch.object(decode, "BLOCK_BYTES", block):
            assert read(data, SMALL) == whole


@settings(max_examples=150, deadline=None)
@given(data=files)
def test_a_later_pass_with_what_was_found_gives_the_same_records(data: bytes) -> None:
    found = read(data, SMALL)
    if not found.code:
        assert read(data, SMALL, encoding=found.encoding, delimiter=found.delimiter) == found


cells = st.text(st.sampled_from('ab",;\t|\r\n \u2028é林😀='), max_size=12)
tables = st.lists(st.tuples(cells, cells, cells), max_size=8)


@settings(max_examples=200, deadline=None)
@given(
    rows=tables,
    delimiter=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    everything=st.booleans(),
)
def test_well_formed_csv_is_read_as_the_csv_module_reads_it(
    rows: list[tuple[str, str, str]], delimiter: str, end: str, everything: bool
) -> None:
    buffer = io.StringIO(newline="")
    # With this line end, the writer quotes a cell with a lone CR too.
    writer = csv.writer(
        buffer, delimiter=delimiter, lineterminator="\r\n", quoting=csv.QUOTE_ALL if everything else csv.QUOTE_MINIMAL
    )
    writer.writerows([("name", "email", "notes"), *rows, ("Ann", "ann@example.com", "the last one")])
    text = buffer.getvalue() if end == "\r\n" else _with_ends(buffer.getvalue(), end)
    expected = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    found = read(text.encode())
    assert [list(record.cells) for record in found.records] == expected[1:]


def _with_ends(text: str, end: str) -> str:
    """The same records with another line end: only where a CR LF is outside quotes (quotes come in pairs)."""
    parts = text.split('"')
    return '"'.join(part.replace("\r\n", end) if place % 2 == 0 else part for place, part in enumerate(parts))


@settings(max_examples=100, deadline=None)
@given(notes=st.lists(st.lists(st.sampled_from(["", "a", "b c"]), min_size=1, max_size=4), min_size=1, max_size=8))
def test_line_numbers_are_those_of_the_file(notes: list[list[str]]) -> None:
    text = HEADER + "".join(
        person(number, '"' + "\n".join(lines) + '"') + "\r\n" for number, lines in enumerate(notes, 1)
    )
    physical = text.replace("\r\n", "\n").split("\n")
    found = read(text)
    assert [physical[line - 1].split(",")[0] for line in found.lines()] == [f"Lead {n + 1}" for n in range(len(notes))]


@settings(max_examples=200, deadline=None)
@given(row=st.lists(cells, min_size=1, max_size=5), cut=st.integers(1, 9), delimiter=st.sampled_from(",;"))
def test_an_oversized_record_is_measured_by_the_rules_of_the_csv_module(
    row: list[str], cut: int, delimiter: str
) -> None:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, delimiter=delimiter).writerow(row)
    lines = io.StringIO(buffer.getvalue(), newline="").readlines()
    # A line arrives in parts; an end of line is never cut.
    pieces = [part for line in lines for part in _parts(line, cut)]
    found = measure([*pieces, "the next record\r\n"], Dialect(delimiter), keep=10_000)
    longest = max(len(cell.encode()) for cell in row)
    assert found.cells == tuple(row)
    assert (found.field_bytes, found.trusted) == (longest, True)


def _parts(line: str, size: int) -> list[str]:
    body = line.rstrip("\r\n")
    parts = [body[place : place + size] for place in range(0, len(body), size)] or [""]
    return [*parts[:-1], parts[-1] + line[len(body) :]]
