"""Bytes to text: the ladder of encodings, and files that are no text at all."""

from __future__ import annotations

import codecs
import gzip
import io
import zipfile

import pytest

from functions.intake.records import open_csv
from functions.intake.refusals import NotUtf8
from functions.settings import Limits
from tests.unit.csv_world import HEADER, LIMITS, person, read, read_rows

TEXT = HEADER + "Zoë Åkerlöf,zoe@example.com,Raketverk,VD,“Ready” – soon\r\n"


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (TEXT.encode(), "utf-8"),
        (codecs.BOM_UTF8 + TEXT.encode(), "utf-8"),
        (codecs.BOM_UTF8 * 2 + TEXT.encode(), "utf-8"),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"), "utf-16-le"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16-be"),
        (TEXT.encode("cp1252"), "cp1252"),
    ],
)
def test_every_supported_encoding_gives_the_same_records(data: bytes, encoding: str) -> None:
    found = read(data)
    assert found.encoding == encoding
    assert found.header[0] == "name"
    assert found.records[0].cells == ("Zoë Åkerlöf", "zoe@example.com", "Raketverk", "VD", "“Ready” – soon")
    assert read(data, encoding=encoding, delimiter=found.delimiter) == found


def test_cp1252_is_declared_as_a_guess_and_utf8_is_not() -> None:
    assert open_csv([TEXT.encode("cp1252")], LIMITS, encoding="cp1252").encoding_guessed
    assert not open_csv([TEXT.encode()], LIMITS).encoding_guessed


def test_a_byte_that_is_not_utf8_is_found_at_its_line_after_the_records_before_it() -> None:
    data = (HEADER + person(1) + "\r\n" + person(2) + "\r\n").encode() + b"Jos\xe9,jose@example.com,,,\r\n"
    records = open_csv([data], LIMITS).records()
    assert [next(records).number, next(records).number] == [1, 2]
    with pytest.raises(NotUtf8) as found:
        next(records)
    assert found.value.line == 4


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (TEXT.encode("utf-16-le"), "unsupported_encoding", "UTF-16 without a byte-order mark"),
        (TEXT.encode("utf-16-be"), "unsupported_encoding", "UTF-16 without a byte-order mark"),
        (codecs.BOM_UTF32_LE + TEXT.encode("utf-32-le"), "unsupported_encoding", "UTF-32"),
        (TEXT.encode("utf-32-be"), "unsupported_encoding", "UTF-32"),
        ((HEADER + "Ann,a@example.com,,,").encode() + b"\x81\xe9", "undecodable", "Line 2"),
        (codecs.BOM_UTF8 + HEADER.encode() + b"Jos\xe9,j@example.com,,,\r\n", "undecodable", "byte-order mark"),
        (codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le") + b"x", "undecodable", "Line 3"),
    ],
)
def test_text_that_cannot_be_read_is_refused_by_name(data: bytes, code: str, words: str) -> None:
    found = read(data)
    assert found.code == code
    assert words in found.sentence


def _zip(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, "content of the member")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (_zip("[Content_Types].xml", "_rels/.rels", "xl/workbook.xml"), "an Excel workbook (.xlsx)"),
        (_zip("[Content_Types].xml"), "most likely an Excel workbook"),
        (_zip("prospects.csv"), "a zip archive, not a CSV file; unpack it"),
        (gzip.compress(TEXT.encode()), "a gzip archive"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "old Excel workbook"),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a PDF document"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "a picture"),
        (b"\n<!DOCTYPE html><html><body><table>", "a web page"),
        (b'<?xml version="1.0"?>\n<Workbook/>', "an XML document"),
        (b'[\n {"name": "Ann", "email": "a@example.com"}\n]', "JSON"),
        (b'{"name": "Ann", "email": "a@example.com"}\n', "JSON"),
        (codecs.BOM_UTF8 + b'{"name": "Ann"}', "JSON"),
        (b"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ann\r\n", "vCard"),
    ],
)
def test_a_file_of_another_kind_is_refused_saying_what_it_is(data: bytes, words: str) -> None:
    found = read(data)
    assert found.code == "not_csv"
    assert words in found.sentence


def test_an_empty_file_and_one_of_empty_lines_are_refused() -> None:
    assert read(b"").code == "empty_file"
    assert read(b"\xef\xbb\xbf").code == "empty_file"
    assert read("\r\n,,,\r\n  \r\n").code == "empty_file"


def test_a_file_over_the_size_limit_is_refused_naming_the_limit() -> None:
    data = (HEADER + person(1) + "\r\n").encode()
    assert read(data, Limits(max_file_bytes=len(data))).outcomes() == ["valid"]
    found = read(data, Limits(max_file_bytes=len(data) - 1))
    assert found.code == "file_too_large"
    assert f"{len(data) - 1:,} bytes" in found.sentence


def test_more_records_than_the_limit_are_refused_naming_the_limit() -> None:
    rows = [person(1), person(2), person(3)]
    assert read_rows(*rows, limits=Limits(max_records=3)).outcomes() == ["valid"] * 3
    found = read_rows(*rows, limits=Limits(max_records=2))
    assert found.code == "too_many_records"
    assert "more than 2 records" in found.sentence
