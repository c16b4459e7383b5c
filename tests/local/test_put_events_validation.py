"""What PutEvents refuses whole, and what only one entry of it."""

from __future__ import annotations

from typing import Any

import pytest

from local.bus.model import BusError
from local.bus.validation import MAX_REQUEST_BYTES, check_request, fault_of


def entry(**changes: Any) -> dict[str, Any]:
    return {"Source": "prospect-uploader", "DetailType": "prospect.submitted", "Detail": "{}", **changes}


@pytest.mark.parametrize("count", [1, 100])
def test_one_to_a_hundred_entries_are_accepted(count: int) -> None:
    check_request({"Entries": [entry()] * count}, MAX_REQUEST_BYTES)


@pytest.mark.parametrize(
    ("request_", "size", "says"),
    [
        ({"Entries": []}, 10, "1 to 100 entries"),
        ({"Entries": [entry()] * 101}, 10, "1 to 100 entries"),
        ({"Entries": [entry()]}, MAX_REQUEST_BYTES + 1, "at most 1048576"),
        ({"Entries": [entry(Source="")]}, 10, r"Entries\[0\].Source"),
        ({"Entries": [entry(), entry(DetailType="x" * 129)]}, 10, r"Entries\[1\].DetailType"),
        ({"Entries": [entry(SystemMetadata={"DeduplicationId": "x" * 129})]}, 10, "DeduplicationId"),
        ({"Entries": [entry(SystemMetadata={"DeduplicationId": " \t"})]}, 10, "not all blank"),
        ({"Entries": [entry(Resources=["r"] * 101)]}, 10, "Resources"),
        (
            {
                "Entries": [entry(SystemMetadata={"DeduplicationId": "a"})],
                "DeduplicationConfiguration": {"DeduplicationType": "CONTENT_BASED"},
            },
            10,
            "not both",
        ),
    ],
)
def test_a_request_against_the_model_is_refused_whole(request_: dict[str, Any], size: int, says: str) -> None:
    with pytest.raises(BusError, match=says) as refused:
        check_request(request_, size)
    assert refused.value.code == "InvalidInputException"


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (entry(Source="aws.s3"), "Source must not begin with 'aws.'."),
        (entry(Detail="{"), "Detail is not JSON."),
        (entry(Detail="[1]"), "Detail is not a JSON object."),
    ],
)
def test_a_bad_entry_fails_alone(bad: dict[str, Any], says: str) -> None:
    check_request({"Entries": [bad, entry()]}, 10)
    assert fault_of(bad) == says
    assert fault_of(entry()) == ""
