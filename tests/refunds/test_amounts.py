"""Amounts, currencies and what is in their place: every bad one is a sentence, every good one is exact."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.refunds.currencies import MINOR_DIGITS
from functions.refunds.errors import InvalidRequestError
from functions.refunds.keys import derived_request_id, mint_request_id
from functions.refunds.money import MAX_AMOUNT_MINOR, money
from functions.refunds.providers.stripe_amounts import stripe_amount
from functions.refunds.request import RefundRequest

GOOD = {"request_id": "rf_" + 32 * "a", "order_id": "A-1", "amount_minor": 1_250, "currency": "EUR"}
amounts = st.integers(1, MAX_AMOUNT_MINOR)
currencies = st.sampled_from(sorted(MINOR_DIGITS))
anything = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(max_value=0),
    st.integers(min_value=MAX_AMOUNT_MINOR + 1),
    st.floats(),
    st.text(max_size=40),
    st.binary(max_size=8),
    st.decimals(allow_nan=True),
    st.lists(st.integers(), max_size=2),
)


@given(amount=amounts, currency=currencies)
def test_every_amount_of_every_currency_is_taken_and_written_without_loss(amount: int, currency: str) -> None:
    request = RefundRequest.parse({**GOOD, "amount_minor": amount, "currency": currency})
    assert (request.amount_minor, request.currency) == (amount, currency)
    number, code = money(amount, currency).split(" ")
    assert (Decimal(number) * 10 ** MINOR_DIGITS[currency], code) == (amount, currency)


def refusal_of(given_: object) -> str:
    """The sentence, or nothing for what is taken."""
    try:
        RefundRequest.parse(given_)
    except InvalidRequestError as error:
        return str(error)
    return ""


@given(member=st.sampled_from(sorted(GOOD)), value=anything)
def test_whatever_stands_in_a_members_place_is_taken_or_refused_in_one_sentence(member: str, value: object) -> None:
    sentence = refusal_of({**GOOD, member: value})
    # Of these values only a text can be right, and only as the order's id.
    assert sentence or (member == "order_id" and isinstance(value, str))
    assert member in sentence or not sentence
    assert len(sentence.splitlines()) <= 1
    # What was given may be a person's data, so it is not repeated.
    assert not (isinstance(value, str) and len(value) > 12 and value in sentence)


@pytest.mark.parametrize(
    "given_", [None, [], "{}", {}, {**GOOD, "note": "x"}, {k: v for k, v in GOOD.items() if k != "request_id"}]
)
def test_what_is_no_request_is_refused(given_: object) -> None:
    with pytest.raises(InvalidRequestError):
        RefundRequest.parse(given_)


@pytest.mark.parametrize("amount", [True, 12.5, 12.0, "12", -1, 0, MAX_AMOUNT_MINOR + 1, None, float("nan")])
def test_an_amount_that_is_none_is_refused(amount: object) -> None:
    with pytest.raises(InvalidRequestError, match="amount_minor"):
        RefundRequest.parse({**GOOD, "amount_minor": amount})


@pytest.mark.parametrize("currency", ["eur", "EURO", "XXX", "XAU", "ABC", "", None, 978])
def test_a_currency_that_is_none_or_has_no_minor_unit_is_refused(currency: object) -> None:
    with pytest.raises(InvalidRequestError, match="currency"):
        RefundRequest.parse({**GOOD, "currency": currency})


def test_the_table_has_the_digits_of_the_standard() -> None:
    digits = {code: MINOR_DIGITS[code] for code in ("EUR", "USD", "JPY", "KWD", "CLF", "ISK", "MGA", "UGX")}
    assert digits == {"EUR": 2, "USD": 2, "JPY": 0, "KWD": 3, "CLF": 4, "ISK": 0, "MGA": 2, "UGX": 0}


@given(amount=amounts, currency=currencies)
def test_what_stripe_is_told_is_the_same_money_or_nothing_is_told(amount: int, currency: str) -> None:
    told = stripe_amount(amount, currency)
    by_stripe = {"ISK": 2, "MGA": 0}.get(currency, MINOR_DIGITS[currency])
    if told is not None:
        assert told * 10 ** MINOR_DIGITS[currency] == amount * 10**by_stripe
    else:
        assert currency == "UGX" or MINOR_DIGITS[currency] == 3 or (currency == "MGA" and amount % 100)


@pytest.mark.parametrize(
    ("amount", "currency", "told"),
    [
        (1_250, "EUR", 1_250),
        (500, "JPY", 500),
        (5, "ISK", 500),
        (500, "MGA", 5),
        (501, "MGA", None),
        (5_120, "KWD", 5_120),
        (5_124, "KWD", None),
        (5, "UGX", None),
    ],
)
def test_stripes_own_units(amount: int, currency: str, told: int | None) -> None:
    assert stripe_amount(amount, currency) == told


def test_a_minted_key_is_another_each_time_and_a_derived_one_names_the_action() -> None:
    assert len({mint_request_id() for _ in range(1_000)}) == 1_000
    one = derived_request_id("A-1", 1_250, "EUR")
    # Pinned: a changed derivation would pay what was paid under the old one.
    assert one == "rf_b7b5e12f9c1053e660c138db52b3a648"
    others = {
        derived_request_id(*each) for each in (("A-2", 1_250, "EUR"), ("A-1", 1_251, "EUR"), ("A-1", 1_250, "USD"))
    }
    assert one not in others
    assert len(others) == 3
