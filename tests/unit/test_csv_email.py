"""The e-mail rule and the memory of addresses seen."""

from __future__ import annotations

import random

import pytest

from functions.intake.duplicates import FirstSeen
from functions.intake.email import comparison_key, normal_address


@pytest.mark.parametrize(
    "address",
    [
        "a@b.co",
        "sean.o'dellan@example.com",
        "first.last+tag@sub.example.co.uk",
        "!#$%&'*+/=?^_`{|}~-@example.com",
        "x_@xn--bcher-kva.example",
        "info@bücher.example",
        "qinghe@例え.テスト",
        "rené.åkerlöf@example.org",
        "सीमा@भारत.example",
        "1@2.example3",
        "a" * 64 + "@example.com",
        "a@" + "b" * 63 + ".com",
    ],
)
def test_addresses_people_have(address: str) -> None:
    assert normal_address(address) == address


@pytest.mark.parametrize(
    "text",
    [
        "not-an-email",
        "a@b@example.com",
        "@example.com",
        "a@",
        "a@localhost",
        "a@example..com",
        "a@.example.com",
        "a@example.com.",
        ".a@example.com",
        "a.@example.com",
        "a..b@example.com",
        "a@-example.com",
        "a@example-.com",
        "a@exam_ple.com",
        "a@192.168.0.1",
        "a@[192.168.0.1]",
        "a b@example.com",
        "a@exam ple.com",
        "a\u200b@example.com",
        "a@exam\u00a0ple.com",
        "Ann <a@example.com>",
        "mailto:a@example.com",
        "a@example.com,b@example.com",
        "a@example.com; b@example.com",
        '"a b"@example.com',
        "a(c)@example.com",
        "a@ex“ample.com",
        "a@example.com\n",
        "😀@example.com",
        "a" * 65 + "@example.com",
        "é" * 33 + "@example.com",
        "a@" + "b" * 64 + ".com",
        "a@" + ".".join(["b" * 60] * 5) + ".com",
        "",
    ],
)
def test_texts_that_are_no_address(text: str) -> None:
    assert normal_address(text) is None


def test_two_spellings_of_one_address_compare_equal() -> None:
    assert normal_address("Ann@EXAMPLE.com") == "ann@example.com"
    assert normal_address("STRAẞE@example.com") == "straße@example.com"
    assert comparison_key("straße@example.com") == comparison_key("strasse@example.com")
    assert comparison_key("rene\u0301@example.com") == comparison_key("ren\u00e9@example.com")


def test_first_seen_agrees_with_a_dict_while_it_grows() -> None:
    seen, known = FirstSeen(), dict[str, int]()
    choose = random.Random(7)
    for number in range(1, 20_001):
        key = f"lead{choose.randrange(12_000)}@example.com"
        assert seen.of(key, number) == known.setdefault(key, number)


def test_first_seen_keeps_apart_what_lands_in_one_slot() -> None:
    seen = FirstSeen()
    assert [seen.of(f"{number}@example.com", number) for number in range(1, 601)] == list(range(1, 601))
    assert [seen.of(f"{number}@example.com", 9_999) for number in range(1, 601)] == list(range(1, 601))
