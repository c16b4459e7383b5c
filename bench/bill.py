"""From counted calls to dollars, for our way and for the naive one. Pure: counts and assumptions in, lines out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from bench.price_list import PRICES
from functions.classify.prices import PER, price_of

MODEL = "claude-haiku-5-5"
MODEL_LINE = "model"


@dataclass(frozen=True)
class Counts:
    """Of a counted run: `rows` and what was called for all of them; sizes in bytes, each the mean of one."""

    rows: int
    put_events: int
    event_bytes: int
    batch_gets: int
    admission_writes: int
    upload_reads: int
    row_writes: int
    effect_writes: int
    effect_units: float
    row_bytes: float
    effect_bytes: float
    file_bytes: int
    prompt_bytes: float
    answer_bytes: float
    requests: int


@dataclass(frozen=True)
class Assumptions:
    """What no run on one machine can count. Seconds, MiB, bytes; rates are parts of all rows or files."""

    bytes_a_token: float = 4.0
    model_s: float = 1.0
    overhead_s: float = 0.15
    rows_a_batch: int = 10
    classify_gb: float = 1.0
    intake_gb: float = 1769 / 1024
    intake_s_a_row: float = 0.00015
    finish_gb: float = 1.0
    finish_s_a_row: float = 0.0001
    log_bytes_a_batch: int = 1_500
    bus_kept_days: int = 7
    delivered_twice: float = 0.001
    timed_out: float = 0.01
    sdk_retries: int = 2
    uploaded_again: float = 0.2


ASSUMED = Assumptions()
_GB = 1 << 30
_KB = 1024


def ours(counts: Counts, rows: int, assumed: Assumptions = ASSUMED) -> Mapping[str, float]:
    """Dollars by service for `rows` new rows, and for a repetition of `uploaded_again` of them in corrected files."""
    again = rows * assumed.uploaded_again
    scale = rows / counts.rows
    batches = rows / assumed.rows_a_batch
    classify_s = batches * (assumed.model_s + assumed.overhead_s)
    gb_s = classify_s * assumed.classify_gb + (rows + again) * (
        assumed.intake_s_a_row * assumed.intake_gb + assumed.finish_s_a_row * assumed.finish_gb
    )
    # A known row of a corrected file is looked up twice and gets its item: no claim, no event, no request.
    writes = scale * (counts.effect_writes * counts.effect_units + counts.row_writes + 2 * counts.admission_writes)
    look_ups = (rows + again) * 2 * 0.5 * math.ceil(counts.effect_bytes / 4096)
    reads = look_ups + scale * counts.upload_reads + _finish_reads(counts, rows + again)
    return {
        MODEL_LINE: rows * _request(counts, assumed) * counts.requests / counts.rows,
        **_services(counts, rows, assumed, gb_s=gb_s, invocations=batches, writes=writes + again, reads=reads),
    }


def naive(counts: Counts, rows: int, assumed: Assumptions = ASSUMED) -> Mapping[str, float]:
    """The same rows with the stock decorator and an invocation and a request for each delivery.

    A repeated file is new to it (its keys are of the event), the SDK repeats what timed out, and of the deliveries
    some come twice under a new identity.
    """
    deliveries = rows * (1 + assumed.uploaded_again) * (1 + assumed.delivered_twice)
    requests = deliveries * (1 + assumed.timed_out * assumed.sdk_retries)
    gb_s = deliveries * (assumed.model_s + assumed.overhead_s) * assumed.classify_gb
    # The decorator's two writes and the result's one; no key is looked up before, no upload is read.
    writes = deliveries * 3
    return {
        MODEL_LINE: requests * _request(counts, assumed),
        **_services(
            counts, deliveries, assumed, gb_s=gb_s, invocations=deliveries, writes=writes, reads=0.0, one_by_one=True
        ),
    }


def requests_a_row(assumed: Assumptions = ASSUMED) -> float:
    """Model requests a new row of the naive way."""
    return (1 + assumed.uploaded_again) * (1 + assumed.delivered_twice) * (1 + assumed.timed_out * assumed.sdk_retries)


ALARM_METRICS, REFUND_ALARM_METRICS = 38, 44
"""What CloudWatch counts of the alarms, without those of the refund stack and of it alone: the metrics that each
watches. The tests of the templates count them again."""
DASHBOARDS = 3


def monthly() -> Mapping[str, float]:
    """Dollars a month whether a row comes or not: alarms, one metric each for our own, dashboards, secret and key."""
    return {
        f"CloudWatch alarms ({ALARM_METRICS} metrics)": PRICES["alarm_month"].of(ALARM_METRICS),
        f"CloudWatch alarms of the refund stack ({REFUND_ALARM_METRICS} metrics)": PRICES["alarm_month"].of(
            REFUND_ALARM_METRICS
        ),
        "CloudWatch metrics of our own (15)": PRICES["metric_month"].of(15),
        f"CloudWatch dashboards ({DASHBOARDS})": PRICES["dashboard_month"].of(DASHBOARDS),
        "Secrets Manager": PRICES["secret_month"].of(1),
        "KMS key of the alerts topic": PRICES["key_month"].of(1),
    }


def _request(counts: Counts, assumed: Assumptions) -> float:
    """Dollars a model request: tokens estimated from bytes, priced as the project prices them."""
    tokens_in = math.ceil(counts.prompt_bytes / assumed.bytes_a_token)
    tokens_out = math.ceil(counts.answer_bytes / assumed.bytes_a_token)
    # By rate, not by `cost_microusd`, which rounds each request up to a micro-dollar.
    rates = price_of(MODEL).rates(tokens_in)
    return (tokens_in * rates.input + tokens_out * rates.output) / PER / 1e6


def _services(
    counts: Counts,
    rows: float,
    assumed: Assumptions,
    *,
    gb_s: float,
    invocations: float,
    writes: float,
    reads: float,
    one_by_one: bool = False,
) -> Mapping[str, float]:
    event_kb = math.ceil(counts.event_bytes / counts.rows / _KB)
    published_gb = rows * event_kb * _KB / _GB
    # Sent by the bus in tens, received in batches, deleted in batches.
    queue = rows * (3 / assumed.rows_a_batch if not one_by_one else 3)
    log_gb = invocations * assumed.log_bytes_a_batch / _GB
    file_gb = rows * counts.file_bytes / counts.rows / _GB
    kept = published_gb * (assumed.bus_kept_days - 1) / 30
    return {
        "Lambda": PRICES["lambda_gb_s"].of(gb_s) + PRICES["lambda_request"].of(invocations),
        "DynamoDB": PRICES["dynamodb_write"].of(writes) + PRICES["dynamodb_read"].of(reads),
        "EventBridge": PRICES["bus_in_gb"].of(published_gb)
        + PRICES["bus_out_gb"].of(published_gb)
        + PRICES["bus_kept_gb"].of(0 if one_by_one else kept),
        "SQS": PRICES["sqs_request"].of(queue),
        "S3": PRICES["s3_put"].of(2) + PRICES["s3_get"].of(3) + PRICES["s3_gb_month"].of(2 * file_gb),
        "SNS": PRICES["sns_email"].of(1),
        "CloudWatch": PRICES["logs_gb"].of(log_gb),
    }


def _finish_reads(counts: Counts, rows: float) -> float:
    """Read units of the counts (about log2 of them, each of half the rows or more) and of one full read."""
    pages = rows * counts.row_bytes / 4096
    return pages * (0.5 * max(1.0, math.log2(max(2.0, rows / 1000))) + 1)
