"""The example files a newcomer uploads: each is accepted, and shows what it is there to show."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.unit.csv_world import read

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("name", "encoding", "outcomes"),
    [
        (
            "prospects.csv",
            "utf-8",
            {"valid": 31, "blank": 1, "duplicate_in_file": 3, "invalid_email": 2, "missing_name": 1}
            | {"malformed_quote": 1, "too_many_fields": 1},
        ),
        ("hubspot-export.csv", "utf-8", {"valid": 7, "duplicate_in_file": 1, "invalid_email": 1, "missing_name": 1}),
        # Salesforce exports reports in the Western code page by default, and signs them below the rows.
        (
            "salesforce-export.csv",
            "cp1252",
            {"valid": 6, "blank": 1, "duplicate_in_file": 1, "missing_email": 1, "too_few_fields": 3},
        ),
    ],
)
def test_an_example_is_read_as_documented(name: str, encoding: str, outcomes: dict[str, int]) -> None:
    found = read((EXAMPLES / name).read_bytes())
    assert found.code == ""
    assert found.encoding == encoding
    assert Counter(found.outcomes()) == outcomes
    assert {"email", "company", "title", "notes"} <= set(found.columns)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.csv")), ids=lambda path: path.name)
def test_nobody_in_an_example_can_be_reached(path: Path) -> None:
    reserved = ("example.com", "example.org", "example.net")
    found = read(path.read_bytes())
    addresses = [record.fields["email"] for record in found.records if record.fields]
    assert addresses
    assert [address for address in addresses if not address.endswith(reserved)] == []
