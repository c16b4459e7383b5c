"""The header: delimiters, spellings, duplicates, and what is said when columns are missing."""

from __future__ import annotations

import pytest

from functions.intake.header import ALIASES, resolve, spelling
from tests.unit.csv_world import read

ROW = ["Ann Roe", "ann@example.com", "Kelp, Peat & Co", "CEO"]
COLUMNS = ["name", "email", "company", "title"]


def _line(cells: list[str], delimiter: str) -> str:
    return delimiter.join(f'"{cell}"' if delimiter in cell else cell for cell in cells) + "\r\n"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("hint", [False, True])
def test_each_delimiter_is_found_with_and_without_the_hint(delimiter: str, hint: bool) -> None:
    start = f"sep={delimiter}\r\n" if hint else ""
    found = read(start + _line(COLUMNS, delimiter) + _line(ROW, delimiter))
    assert found.delimiter == delimiter
    assert found.records[0].cells == tuple(ROW)
    assert found.lines() == [3 if hint else 2]


@pytest.mark.parametrize("hint", ["SEP=;", '"sep=;"', "sep=;;;;"])
def test_the_hint_is_understood_as_other_programs_write_it(hint: str) -> None:
    assert read(hint + "\n" + _line(COLUMNS, ";") + _line(ROW, ";")).outcomes() == ["valid"]


def test_the_hint_may_name_an_unusual_delimiter_but_not_an_impossible_one() -> None:
    assert read("sep=^\n" + _line(COLUMNS, "^") + _line(ROW, "^")).delimiter == "^"
    assert read("sep=a\n" + _line(COLUMNS, "a")).code == "unsupported_delimiter"


def test_delimiters_inside_quoted_headers_do_not_count() -> None:
    found = read('name;email;"Region, Country, City, Street"\nAnn;ann@example.com;x\n')
    assert (found.delimiter, found.outcomes()) == (";", ["valid"])
    found = read('"Name","E-mail","Job\nTitle"\nAnn,ann@example.com,CEO\n')
    assert (found.columns, found.lines()) == (("name", "email", "title"), [3])


def test_a_space_after_every_delimiter_is_style_even_before_quotes() -> None:
    found = read('"name", "email", "notes"\n"Ann Roe", "ann@example.com", "one, two"\n')
    assert found.records[0].cells == ("Ann Roe", "ann@example.com", "one, two")


@pytest.mark.parametrize(
    "written",
    [
        "E-mail",
        "EMAIL",
        " email ",
        "\u00a0Email\u200b",
        "Email Address",
        "e_mail_address",
        "Email:",
        "E-Mail*",
        "Ｅｍａｉｌ",
    ],
)
def test_spellings_of_the_email_column(written: str) -> None:
    assert read(f"name,{written}\nAnn,ann@example.com\n").columns == ("name", "email")


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("Full Name", "name"),
        ("Contact Name", "name"),
        ("First Name", "first name"),
        ("GivenName", "first name"),
        ("sur-name", "last name"),
        ("Family Name", "last name"),
        ("Organisation", "company"),
        ("Organization", "company"),
        ("Company / Account", "company"),
        ("Account Name", "company"),
        ("Job Title", "title"),
        ("Position", "title"),
        ("Comments", "notes"),
        ("Description", "notes"),
        ("Work Email", "email"),
        ("Primary Email", "email"),
    ],
)
def test_spellings_of_the_other_columns(written: str, canonical: str) -> None:
    assert resolve([written]).columns == (canonical,)


def test_no_spelling_means_two_things_and_each_column_knows_its_own_name() -> None:
    meanings: dict[str, set[str]] = {}
    for canonical, groups in ALIASES.items():
        assert spelling(canonical) in {spelling(alias) for group in groups for alias in group}
        for alias in (alias for group in groups for alias in group):
            meanings.setdefault(spelling(alias), set()).add(canonical)
    assert {name: both for name, both in meanings.items() if len(both) > 1} == {}


def test_the_better_column_is_taken_and_the_other_one_kept_under_its_own_name() -> None:
    found = read("Name,Email,Work Email,Company,Associated Company\nAnn,a@example.com,w@example.com,Kelp,Peat\n")
    assert found.columns == ("name", "email", None, "company", None)
    assert found.records[0].fields == {
        "name": "Ann",
        "email": "a@example.com",
        "work email": "w@example.com",
        "company": "Kelp",
        "associated company": "Peat",
    }


def test_a_salutation_column_does_not_pass_for_the_job_title() -> None:
    found = read("Title,First Name,Last Name,Job Title,Email\nDr,Ann,Roe,CEO,a@example.com\n")
    assert found.columns == (None, "first name", "last name", "title", "email")
    assert found.records[0].fields["title"] == "CEO"


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("name,email,company,E-Mail", "column email more than once (columns 2 and 4)"),
        ("Email,Name,EMAIL ,email address", "column email more than once (columns 1, 3 and 4)"),
        ("name,email,Title,Notes,notes", "column notes more than once (columns 4 and 5)"),
        ("name,email,Stage,Owner,stage ", "Columns 3 and 5 have the same header"),
    ],
)
def test_a_duplicate_header_is_refused_by_column_numbers(header: str, words: str) -> None:
    found = read(header + "\n")
    assert found.code == "duplicate_header"
    assert words in found.sentence


def test_no_header_text_of_the_file_is_repeated_in_a_refusal() -> None:
    for header in (
        "canary@example.com,Canary Person,Canary Ltd",
        "name,email,Canary,canary",
        '{"canary": 1}',
        'canary"',
    ):
        assert "canary" not in read(header + "\r\n").sentence.lower()


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("name,company", ["no e-mail column", "E-Mail", "recognised: name, company"]),
        ("email,first name", ["no name column", "Full Name", "First Name with Last Name"]),
        ("a,b,c", ["no e-mail column", "no name column", "columns read: 3, separated by comma", "none of them"]),
        ("name email company", ["only one column was read", "comma, semicolon, tab and vertical bar"]),
        ("sep=;\nname,email", ["separated by semicolon"]),
    ],
)
def test_missing_columns_are_named_with_what_was_found(header: str, words: list[str]) -> None:
    found = read(header + "\r\n")
    assert found.code == "missing_columns"
    assert [word for word in words if word not in found.sentence] == []


def test_a_name_may_come_in_two_columns_or_be_filled_from_them() -> None:
    found = read("Email,First Name,Last Name\na@example.com,Ann,Roe\nb@example.com,,Boe\nc@example.com, ,\n")
    assert [record.fields.get("name") for record in found.records] == ["Ann Roe", "Boe", None]
    assert found.outcomes() == ["valid", "valid", "missing_name"]
    found = read("Email,Name,First Name,Last Name\na@example.com,,Ann,Roe\nb@example.com,Dr B. Boe,Bea,Boe\n")
    assert [record.fields["name"] for record in found.records] == ["Ann Roe", "Dr B. Boe"]


def test_empty_trailing_headers_are_dropped_and_an_index_column_is_kept_unnamed() -> None:
    found = read(",name,email,,\n0,Ann,ann@example.com,,\n1,Bob,bob@example.com\n2,Cy,cy@example.com,,late\n")
    assert found.header == ("", "name", "email")
    assert found.columns == (None, "name", "email")
    assert found.outcomes() == ["valid", "valid", "too_many_fields"]
    assert found.records[0].fields == {"name": "Ann", "email": "ann@example.com"}


def test_empty_lines_before_the_header_are_skipped_and_counted_as_lines() -> None:
    found = read("\r\n;;;\r\nname;email\r\nAnn;ann@example.com\r\n")
    assert (found.outcomes(), found.lines()) == (["valid"], [4])


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ('name,email,"notes', "a quote in it is not closed"),
        ('name,email,"no"tes', "a quote in it"),
        ("name,email," + "x" * 70_000, "longer than a record"),
        ("name,email,no\0tes", "control character U+0000"),
    ],
)
def test_a_header_that_cannot_be_read_is_refused(header: str, words: str) -> None:
    found = read(header + "\r\nAnn,ann@example.com,x\r\n")
    assert found.code == "malformed_header"
    assert words in found.sentence


def test_a_header_alone_and_one_with_blank_records_have_no_data_rows() -> None:
    assert read("name,email\r\n").code == "no_data_rows"
    assert read("name,email").code == "no_data_rows"
    found = read("name,email\r\n,\r\n\r\n")
    assert found.sentence == "The file has a header but no data rows (2 blank ones were skipped)."


def test_a_header_that_is_too_wide_is_refused_in_a_short_sentence() -> None:
    wide = read(b"email,name," + b"," * 60_000 + b"z\na@example.com,A\n")
    assert wide.code == "too_many_columns"
    assert "60,003 columns" in wide.sentence
    blank = read(b"email,name" + b"," * 20_000 + b"\na@example.com,A\n")
    assert [record.outcome for record in blank.records] == ["valid"]


def test_many_equal_headers_are_refused_in_a_short_sentence() -> None:
    same = read(b"email,name" + b",x" * 1_500 + b"\na@example.com,A\n")
    assert same.code == "duplicate_header"
    assert "and 1,490 more" in same.sentence
    assert len(same.sentence) < 200
