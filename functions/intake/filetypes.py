"""Files that are not CSV whatever their name says, recognised by content.

Binary kinds are known by their first bytes and refused at once. Text kinds (HTML, XML, JSON …) could in theory be a
strange CSV, so they are only named when the header was already found wanting.
"""

from __future__ import annotations

import re

from functions.intake.refusals import SAVE_AS_CSV, Refused

ZIP = b"PK\x03\x04"

# First bytes -> what the file is. Sources: the formats' own specifications; OLE is [MS-CFB] 2.2.
SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"PK\x07\x08", "a zip archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel workbook (.xls) or a password-protected one"),
    (b"%PDF-", "a PDF document"),
    (b"{\\rtf", "an RTF document"),
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x89PNG", "a picture (PNG)"),
    (b"\xff\xd8\xff", "a picture (JPEG)"),
    (b"GIF8", "a picture (GIF)"),
)

# A name inside the first block of a zip -> what the zip is. The first that is found decides.
ZIP_MEMBERS: tuple[tuple[bytes, str], ...] = (
    (b"xl/", "an Excel workbook (.xlsx)"),
    (b"word/", "a Word document (.docx)"),
    (b"ppt/", "a PowerPoint presentation (.pptx)"),
    (b"opendocument.spreadsheet", "an OpenDocument spreadsheet (.ods)"),
    (b"Index/", "a Numbers spreadsheet (.numbers)"),
    (b"[Content_Types].xml", "an Office document, most likely an Excel workbook (.xlsx)"),
)

# Start of the text, after white space -> what it is.
TEXT_KINDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"<(?:!doctype\s+html|html|head|body|table|div|meta)\b", re.IGNORECASE), "a web page (HTML)"),
    (re.compile(r"<\?xml|<!--"), "an XML document"),
    (re.compile(r'[\[{]\s*["\[{\]}]'), "JSON"),
    (re.compile(r"BEGIN:VCARD", re.IGNORECASE), "a file of contact cards (vCard)"),
    (re.compile(r"ID;P"), "a SYLK spreadsheet (.slk)"),
)


def refuse_binary(first: bytes) -> None:
    """`first` is the file's first block (all of it, if it is short). Raises `Refused` when it cannot be a CSV."""
    if not first:
        raise Refused("empty_file", "The file is empty (0 bytes); export it again and upload it once more.")
    kind = binary_kind(first)
    if kind is not None:
        raise Refused("not_csv", f"This is {kind}, not a CSV file; {_remedy(kind)}, then upload that file.")


def binary_kind(first: bytes) -> str | None:
    if first.startswith(ZIP):
        return next((kind for member, kind in ZIP_MEMBERS if member in first), "a zip archive")
    return next((kind for signature, kind in SIGNATURES if first.startswith(signature)), None)


def text_kind(start: str) -> str | None:
    """What a text that is no usable CSV is instead, judged by its start; None when nothing is recognised."""
    text = start.lstrip()
    return next((kind for pattern, kind in TEXT_KINDS if pattern.match(text)), None)


def _remedy(kind: str) -> str:
    return "unpack it" if kind.endswith("archive") else SAVE_AS_CSV
