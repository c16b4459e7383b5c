"""`python -m bench.costs`: counts the calls of a run, and writes docs/costs.md from them and the price list.

`--committed` takes the counts of the last run (bench/counts.json) instead of making one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from bench.bill import ASSUMED, MODEL, MODEL_LINE, Counts, monthly, naive, ours, requests_a_row
from bench.child import ROOT, measure
from bench.leads import leads
from bench.price_list import PRICES, READ_ON, REGION
from functions.classify.prices import PRICES as MODEL_PRICES

COUNTS = ROOT / "bench" / "counts.json"
DOCUMENT = ROOT / "docs" / "costs.md"
_ROWS = 1_000


def count(rows: int) -> Counts:
    """Run a file of so many rows through the real intake and classify on moto. Raises ChildError."""
    found = measure("bench.rows:counted", str(rows)).found
    intake, classify = found["intake"], found["classify"]
    return Counts(
        rows=rows,
        put_events=found["put_events"],
        event_bytes=found["event_bytes"],
        batch_gets=intake["BatchGetItem"],
        admission_writes=intake.get("UpdateItem", 0) + 3 * intake.get("TransactWriteItems", 0),
        upload_reads=classify["GetItem"],
        # The claim and the row's item are puts, the outcome is an update.
        row_writes=classify["PutItem"] // 2,
        effect_writes=classify["PutItem"] // 2 + classify["UpdateItem"],
        effect_units=round(found["effect_units"], 3),
        row_bytes=round(found["row_bytes"], 1),
        effect_bytes=round(found["effect_bytes"], 1),
        file_bytes=sum(len(text.encode()) for text in leads(rows)),
        prompt_bytes=round(found["prompt_bytes"], 1),
        answer_bytes=round(found["answer_bytes"], 1),
        requests=found["requests"],
    )


def committed(path: Path = COUNTS) -> Counts:
    return Counts(**json.loads(path.read_text()))


def document(counts: Counts) -> str:
    """The page, which holds nothing else than what these counts and the price list give."""
    parts = [_TITLE.format(region=REGION, read_on=READ_ON), *_bill(counts, 1_000), *_bill(counts, 1_000_000)]
    return "\n".join([*parts, *_monthly(), *_naive_words(), *_assumptions(), *_counted(counts), *_prices()]) + "\n"


def _bill(counts: Counts, rows: int) -> list[str]:
    us, them = ours(counts, rows), naive(counts, rows)
    lines = [f"## {rows:,} rows", "", "| | ours | naive |", "|---|---:|---:|"]
    lines += [f"| {name} | {_dollars(us[name])} | {_dollars(them[name])} |" for name in us]
    total = f"| **together** | **{_dollars(sum(us.values()))}** | **{_dollars(sum(them.values()))}** |"
    without = f"| services without the model | {_dollars(_services(us))} | {_dollars(_services(them))} |"
    return [*lines, without, total, ""]


def _services(bill: Mapping[str, float]) -> float:
    return sum(dollars for name, dollars in bill.items() if name != MODEL_LINE)


def _monthly() -> list[str]:
    fixed = monthly()
    lines = [f"| {name} | {_dollars(dollars)} |" for name, dollars in fixed.items()]
    head = ["## Every month, rows or none", "", "| | dollars |", "|---|---:|"]
    return [*head, *lines, f"| **together** | **{_dollars(sum(fixed.values()))}** |", "", _WITHOUT_REFUNDS, ""]


def _naive_words() -> list[str]:
    return [
        "## The naive way",
        "",
        "Powertools' own decorator with its defaults, one Lambda invocation and one model request for every delivery, "
        "the SDK's default retries. Both columns hold the same work: the rows, and a fifth of them once more in "
        f"corrected files. At these rates it makes {requests_a_row():.3f} model requests a row; ours makes 1.000, and "
        "none for rows that did not change.",
        "",
        "What the table cannot show: a request that timed out is answered twice or three times, and which of the "
        "answers is stored is chance.",
        "",
    ]


def _assumptions() -> list[str]:
    rates = asdict(ASSUMED)
    lines = [f"| {_ASSUMED_WORDS[name]} | {value:,.6g} |" for name, value in rates.items()]
    return ["## Assumed", "", "Change them in `bench/bill.py`.", "", "| what | value |", "|---|---:|", *lines, ""]


def _counted(counts: Counts) -> list[str]:
    lines = [f"| {name.replace('_', ' ')} | {value:,.6g} |" for name, value in asdict(counts).items()]
    head = ["## Counted", "", "Of a run of the real intake and classify workers on moto.", ""]
    return [*head, "| what | count or mean |", "|---|---:|", *lines, ""]


def _prices() -> list[str]:
    model = MODEL_PRICES[MODEL]
    lines = [
        f"| {price.service} | {price.what} | {price.dollars:.10g} for {price.per:,} | "
        f"{price.known_from} | {price.source} |"
        for price in PRICES.values()
    ]
    claude = f"{model.small.input / 1e6:.2f} in, {model.small.output / 1e6:.2f} out for 1,000,000"
    lines.append(f"| Claude | {MODEL}, tokens, read {model.read_on} | {claude} | Anthropic | {model.source} |")
    return ["## Prices", "", "| service | unit | dollars | known from | source |", "|---|---|---|---|---|", *lines]


def _dollars(amount: float) -> str:
    return f"{amount:,.2f}" if amount >= 100 else f"{amount:.4f}"


_TITLE = """\
# What it costs

Written by `make costs`; do not edit. Dollars in {region}, prices of {read_on}, without free tiers and discounts.
The calls are counted; what cannot be counted is listed under *Assumed*. None of the prices was read from AWS's own
pages (see *known from*): check them before you rely on a line.
"""
_WITHOUT_REFUNDS = "With the setting `refunds` false, the refund stack's alarms and one dashboard cost nothing."
_ASSUMED_WORDS = {
    "bytes_a_token": "bytes of prompt or answer a token",
    "model_s": "seconds the model takes to answer",
    "overhead_s": "seconds of an invocation beside that",
    "rows_a_batch": "rows an invocation of classify takes, asked in parallel",
    "classify_gb": "GB of memory of classify",
    "intake_gb": "GB of memory of intake",
    "intake_s_a_row": "seconds of intake a row",
    "finish_gb": "GB of memory of finish",
    "finish_s_a_row": "seconds of finish a row",
    "log_bytes_a_batch": "bytes of logs an invocation",
    "bus_kept_days": "days the bus keeps an event (the naive one: 1)",
    "delivered_twice": "deliveries that come twice under a new identity (naive)",
    "timed_out": "requests that time out after they were billed (naive)",
    "sdk_retries": "retries of each by the SDK (naive)",
    "uploaded_again": "rows that come again in a corrected or repeated file",
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.costs", description=__doc__)
    parser.add_argument("--committed", action="store_true")
    options = parser.parse_args(arguments)
    if not options.committed:
        COUNTS.write_text(json.dumps(asdict(count(_ROWS)), indent=2) + "\n")
    DOCUMENT.write_text(document(committed()))
    sys.stdout.write(f"written: {DOCUMENT.relative_to(ROOT)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
