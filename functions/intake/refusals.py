"""What reading a file can end in instead of records: a refusal of the whole file, or a wrong guess of its encoding.

A refusal's sentence is stored and shown to the uploader. It is made of our own words, numbers and canonical column
names only: never of a cell or of an unknown header's text (the first line of a file without a header is a person).
"""

from __future__ import annotations

from typing import Literal

RefusalCode = Literal[
    "empty_file",
    "not_csv",
    "unsupported_encoding",
    "undecodable",
    "unsupported_delimiter",
    "malformed_header",
    "missing_columns",
    "duplicate_header",
    "too_many_columns",
    "no_data_rows",
    "unclosed_quote",
    "too_many_records",
    "file_too_large",
]

Reason = Literal[
    "control_character",
    "duplicate_in_file",
    "field_too_long",
    "invalid_email",
    "malformed_quote",
    "missing_email",
    "missing_name",
    "record_too_long",
    "too_few_fields",
    "too_many_fields",
]
"""Why one record is not valid. `duplicate_in_file` goes with the outcome `duplicate`, the others with `rejected`."""

SAVE_AS_CSV = 'open it in its own program and save it as "CSV UTF-8"'


class Refused(Exception):  # noqa: N818 - the word of the design: a refused file is an end state, not a defect
    """The whole file is refused: `code` for machines, `sentence` (one, complete) for the person who uploaded it."""

    def __init__(self, code: RefusalCode, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence


class NotUtf8(Exception):  # noqa: N818 - a finding on which the caller acts, not an error to report
    """The file has no byte-order mark and line `line` (from 1) holds a byte that is not UTF-8: read it as cp1252."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line} is not UTF-8")
        self.line = line
