"""The page on costs is what its command writes, and its sums follow from counts and prices."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from bench.bill import ASSUMED, MODEL_LINE, naive, ours, requests_a_row
from bench.costs import _ASSUMED_WORDS, DOCUMENT, committed, document
from bench.price_list import PRICES


def test_the_page_is_what_the_committed_counts_give() -> None:
    assert DOCUMENT.read_text() == document(committed())


def test_every_assumption_has_its_words_and_every_price_its_source() -> None:
    assert list(_ASSUMED_WORDS) == list(asdict(ASSUMED))
    assert all(price.source and price.dollars > 0 and price.per > 0 for price in PRICES.values())


def test_the_counted_run_holds_the_promise() -> None:
    counts = committed()
    assert counts.requests == counts.rows
    assert counts.row_writes + counts.effect_writes <= 3 * counts.rows
    assert counts.put_events <= -(-counts.rows // 100)


def test_a_thousand_times_the_rows_cost_a_thousand_times_the_model() -> None:
    counts = committed()
    assert ours(counts, 1_000_000)[MODEL_LINE] == pytest.approx(1000 * ours(counts, 1000)[MODEL_LINE])


def test_the_naive_way_pays_for_every_delivery() -> None:
    counts = committed()
    assert naive(counts, 1000)[MODEL_LINE] == pytest.approx(requests_a_row() * ours(counts, 1000)[MODEL_LINE])
    calm = replace(ASSUMED, delivered_twice=0.0, timed_out=0.0, uploaded_again=0.0)
    assert naive(counts, 1000, calm)[MODEL_LINE] == pytest.approx(ours(counts, 1000, calm)[MODEL_LINE])
    assert sum(naive(counts, 1000).values()) > sum(ours(counts, 1000).values())
