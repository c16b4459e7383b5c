"""`python -m bench.matrix.naive.retries`: the requests that one row costs a naive stack at worst, computed and counted.

Two layers repeat the same call and neither knows of the other, so their attempts multiply. Exit code 1 when the count
is not the product.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import replace

import anthropic

from bench.matrix.contender import Ended, Fault
from bench.matrix.naive.contender import Naive
from bench.matrix.naive.template import MAX_RECEIVES, WORKERS, Worker

LAYERS: Sequence[tuple[str, int]] = (
    ("the SDK, with max_retries as it is by default", 1 + anthropic.DEFAULT_MAX_RETRIES),
    ("the queue, with its maxReceiveCount", MAX_RECEIVES),
)
"""Each layer that repeats the model request, and how often one of it asks for it."""

AT_WORST = math.prod(attempts for _, attempts in LAYERS)

ALWAYS_500 = Fault(
    name="500 for ever",
    injects="every request for the first row is answered 500, which may have been billed",
    rows=1,
    claude=[{"when": {"contains": "Lead 000001"}, "then": {"status": 500}}],
    context={"classify_timeout_s": "25"},
)
_HIDDEN = 0.08
"""Timeouts that a failed row is hidden for."""


def measured(worker: Worker, rows: int = 1) -> Ended:
    """A file whose first row fails for ever, counted by who was asked. Raises MatrixError, LocalCloudError."""
    return Naive(worker, _HIDDEN, handlers=1).run(replace(ALWAYS_500, rows=rows))


def main() -> int:
    for layer, attempts in LAYERS:
        sys.stdout.write(f"{attempts} x {layer}\n")
    sys.stdout.write(f"{AT_WORST} requests for one row at worst\n")
    held = True
    for worker in WORKERS:
        ended = measured(worker)
        ends = ", ".join(f"{count} {end}" for end, count in ended.where.items())
        counted = f"{ended.may_have_been_billed} requests and {ended.deliveries} deliveries"
        sys.stdout.write(f"{worker}: {counted} counted for a row that is answered 500 for ever: {ends}\n")
        held = held and ended.may_have_been_billed == AT_WORST
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
