"""Data records: quotes, line ends, ragged and blank records, control characters, limits, e-mails, duplicates."""

from __future__ import annotations

import pytest

from functions.settings import Limits
from tests.unit.csv_world import HEADER, person, read, read_rows

SMALL = Limits(max_field_bytes=100, max_record_bytes=200)


def test_fields_are_trimmed_and_cells_are_kept_as_read() -> None:
    found = read_rows(" Ann Roe ,\u00a0Ann@Example.COM\u200b,01067,,\tnull ")
    record = found.records[0]
    assert record.cells == (" Ann Roe ", "\u00a0Ann@Example.COM\u200b", "01067", "", "\tnull ")
    assert record.fields == {"name": "Ann Roe", "email": "ann@example.com", "company": "01067", "notes": "null"}
    assert (record.number, record.line, record.outcome, record.reason, record.detail) == (1, 2, "valid", "", "")


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r"])
def test_every_line_end_ends_a_record_and_quoted_ones_are_data(end: str) -> None:
    rows = ["name,email,notes", f'Ann,a@example.com,"one{end}{end}two"', "Bob,b@example.com,three"]
    found = read(end.join(rows) + end)
    assert found.records[0].cells[2] == f"one{end}{end}two"
    assert (found.outcomes(), found.lines()) == (["valid", "valid"], [2, 5])
    assert read(end.join(rows)) == found


def test_nothing_else_ends_a_line() -> None:
    notes = "a\u2028b\u2029c\x85d"
    assert read_rows(person(1, notes), person(2)).records[0].cells[4] == notes


def test_a_quote_inside_an_unquoted_field_is_text() -> None:
    found = read_rows(person(1, 'Needs 12" and 24" sizes'), person(2, ' "x"'))
    assert [record.cells[4] for record in found.records] == ['Needs 12" and 24" sizes', ' "x"']
    assert found.outcomes() == ["valid", "valid"]


def test_text_after_a_closing_quote_rejects_that_record_alone() -> None:
    found = read_rows(person(1), person(2, '"abc"def'), person(3, '"abc" '), person(4, '"a ""b"" c"'))
    assert found.outcomes() == ["valid", "malformed_quote", "malformed_quote", "valid"]
    assert found.records[1].cells[4] == "abcdef"
    assert found.lines() == [2, 3, 4, 5]


def test_a_stray_opening_quote_costs_its_own_line_not_those_up_to_the_next_quote() -> None:
    found = read_rows(person(1, '"Box of'), person(2), person(3), person(4, '"said ""yes"""'), person(5))
    assert found.outcomes() == ["malformed_quote", "valid", "valid", "valid", "valid"]
    assert found.lines() == [2, 3, 4, 5, 6]


def test_a_quote_that_is_never_closed_refuses_the_file_naming_where_it_opened() -> None:
    found = read_rows(person(1), person(2, '"Box of'), person(3))
    assert found.code == "unclosed_quote"
    assert found.sentence.startswith("Record 2 (line 3) opens a quote that is not closed")
    found = read_rows(person(1), 'Ann,a@example.com,"one\r\ntwo",x,"three', person(3))
    assert found.sentence.startswith("Record 2 (line 3), on line 4, opens a quote")


def test_an_unclosed_quote_far_from_the_end_is_refused_in_bounded_memory() -> None:
    rows = [person(1, '"Box of'), *(person(number) for number in range(2, 60))]
    assert read_rows(*rows, limits=SMALL).sentence.startswith("Record 1 (line 2) opens a quote")
    # It meets another quote only past the limit: which of the lines between are records is a guess.
    assert read_rows(*rows, person(60, '"x"'), limits=SMALL).code == "unclosed_quote"


def test_ragged_records_are_rejected_with_both_counts() -> None:
    found = read_rows("Ann,a@example.com,Kelp, Sons,CEO,x", "Bob,b@example.com", "Cy,c@example.com,,,", "dash")
    assert found.outcomes() == ["too_many_fields", "too_few_fields", "valid", "too_few_fields"]
    details = [record.detail for record in found.records]
    assert details == ["6 fields, the header has 5.", "2 fields, the header has 5.", "", "1 field, the header has 5."]


def test_empty_cells_past_the_header_are_ignored() -> None:
    assert read_rows(person(1) + ",, ,\u00a0").outcomes() == ["valid"]


def test_blank_records_are_numbered_and_nothing_else() -> None:
    found = read_rows(person(1), ",,,,", "", " ,\u00a0,\u200b,,", person(2))
    assert found.outcomes() == ["valid", "blank", "blank", "blank", "valid"]
    assert [record.number for record in found.records] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(("character", "name"), [("\0", "U+0000 (NUL)"), ("\x1a", "U+001A"), ("\x7f", "U+007F")])
def test_a_control_character_rejects_its_record_naming_the_line(character: str, name: str) -> None:
    found = read_rows(person(1), person(2, f'"one\r\nt{character}wo"'), person(3))
    assert found.outcomes() == ["valid", "control_character", "valid"]
    assert found.records[1].detail == f"Line 4 holds the control character {name}."
    assert found.lines() == [2, 3, 5]


@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("length", [101, 140_000, 400_000])
def test_a_field_over_the_limit_rejects_its_record_alone(quote: str, length: int) -> None:
    limits = Limits(max_field_bytes=100, max_record_bytes=200) if length < 1000 else Limits()
    found = read_rows(person(1), person(2, f"{quote}{'x' * length}{quote}"), person(3), limits=limits)
    assert found.outcomes() == ["valid", "field_too_long", "valid"]
    expected = f"Field 5 has {length:,} bytes; the limit is {limits.max_field_bytes:,} bytes a field."
    assert found.records[1].detail == expected
    assert found.lines() == [2, 3, 4]


def test_the_limits_count_utf8_bytes_and_are_reached_not_passed() -> None:
    fits, over = "é" * 50, "é" * 50 + "x"
    assert read_rows(person(1, fits), person(2, over), limits=SMALL).outcomes() == ["valid", "field_too_long"]
    start = "Ann,a@example.com,"
    rows = [start + "x" * 90 + "," + "y" * rest + "," for rest in (200 - len(start) - 92, 201 - len(start) - 92)]
    assert [len(row) for row in rows] == [200, 201]
    found = read_rows(*rows, limits=SMALL)
    assert found.outcomes() == ["valid", "record_too_long"]
    assert found.records[1].detail == "The record is longer than the limit of 200 bytes a record."


def test_a_record_over_the_limit_in_many_lines_is_skipped_to_its_end() -> None:
    notes = "\r\n".join(["a line of text"] * 40)
    found = read_rows(person(1, f'"{notes}"'), person(2), limits=SMALL)
    assert (found.outcomes(), found.lines()) == (["field_too_long", "valid"], [2, 42])
    found = read_rows(",".join(['"a, ""b"""'] * 60), person(2), limits=SMALL)
    assert found.outcomes() == ["record_too_long", "valid"]
    assert found.records[0].cells[0] == 'a, "b"'
    assert sum(map(len, found.records[0].cells)) <= SMALL.max_record_bytes


def test_text_after_a_closing_quote_in_a_record_over_the_limit_ends_it_with_its_line() -> None:
    found = read_rows(person(1, f'"{"x" * 300}"y'), person(2), limits=SMALL)
    assert (found.outcomes(), found.lines()) == (["field_too_long", "valid"], [2, 3])


def test_a_record_of_endless_empty_fields_keeps_no_more_than_its_share() -> None:
    found = read_rows(person(1), "," * 5_000, '"",' * 5_000, person(2), limits=SMALL)
    assert found.outcomes() == ["valid", "record_too_long", "record_too_long", "valid"]
    assert max(len(record.cells) for record in found.records) <= SMALL.max_record_bytes
    found = read_rows("a,b," + "x" * 150 + "," * 100 + "é" * 90 + ",z", person(2), limits=SMALL)
    assert found.records[0].detail == "Field 103 has 180 bytes; the limit is 100 bytes a field."


def test_one_endless_line_is_one_rejected_record() -> None:
    found = read(HEADER + person(1) + "\r\n" + "x" * 1_000_000)
    assert found.outcomes() == ["valid", "field_too_long"]
    assert read("x" * 1_000_000).code == "malformed_header"


def test_the_highest_limit_is_met_before_the_csv_modules_own() -> None:
    limits = Limits(max_field_bytes=131_072, max_record_bytes=131_072)
    room = 131_072 - len(person(1, '""'))
    found = read_rows(person(1, '"' + "x\n" * (room // 2) + '"'), person(2, "y" * 131_072), person(3), limits=limits)
    assert found.outcomes() == ["valid", "record_too_long", "valid"]


def test_the_first_reason_decides() -> None:
    found = read_rows(",not-an-email,,,", ",,Kelp,,", ",ann@example.com,,,", "Ann,,,,")
    assert found.outcomes() == ["invalid_email", "missing_email", "missing_name", "missing_email"]
    assert all(record.fields == {} for record in found.records)


def test_a_duplicate_is_one_of_an_earlier_valid_record() -> None:
    found = read_rows(
        "Ann,ANN@example.com,,,",
        ",bob@example.com,,,",
        "Ann Roe,ann@EXAMPLE.com,,,",
        "Bob,bob@example.com,,,",
        "Bob,Bob@example.com,,,",
        "A. Roe,ann@example.com ,,,",
    )
    same = "duplicate_in_file"
    assert found.outcomes() == ["valid", "missing_name", same, "valid", same, same]
    assert [record.duplicate_of for record in found.records] == [None, None, 1, None, 4, 1]
    assert found.records[2].outcome == "duplicate"
    assert found.records[2].detail == "Same e-mail address as record 1."


def test_no_sentence_repeats_a_cell() -> None:
    rows = ["canary,canary,canary,,", "canary", '"canary"canary,,,,', "canary\0,,,,", "canary" * 20_000, ",,canary,,"]
    found = read_rows(*rows, "canary,canary@example.com,,,", "canary,canary@example.com,,,")
    assert len(found.records) == 8
    assert not [record.detail for record in found.records if "canary" in record.detail]
