"""`python -m bench.matrix.naive.retries`: the requests that one row costs a naive stack at worst, computed and counted.

Two layers repeat the same call and neither knows of the other, so their attempts multiply. Exit code 1 when the count
is not the product.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import anthropic

from bench.matrix.contender import Ended, Fault
from bench.matrix.naive.contender import NAMES, NaiveContender
from bench.matrix.naive.template import MAX_RECEIVES

LAYERS: Sequence[tuple[str, int]] = (
    ("the SDK, with max_retries as it is by default", 1 + anthropic.DEFAULT_MAX_RETRIES),
    ("the queue, with its maxReceiveCount", MAX_RECEIVES),
)
"""Each layer that repeats the model request, and how often one of it asks for it."""

AT_WORST = math.prod(attempts for _, attempts in LAYERS)

ALWAYS_500 = Fault(
    name="500 for ever",
    injects="every request for the one row is answered 500, which may have been billed",
    rows=1,
    claude=[{"when": {"contains": "lead000001"}, "then": {"status": 500}}],
    context={"classify_timeout_s": "8", "model_deadline_s": "2"},
)


def measured(contender: NaiveContender) -> Ended:
    """The row that fails for ever, counted by who was asked. Raises StuckError, LocalCloudError."""
    return contender.run(ALWAYS_500)


def main() -> int:
    for layer, attempts in LAYERS:
        sys.stdout.write(f"{attempts} x {layer}\n")
    sys.stdout.write(f"{AT_WORST} requests for one row at worst\n")
    held = True
    for worker, name in NAMES.items():
        ended = measured(NaiveContender(worker, visibility_per_timeout=1, handlers=1))
        ends = ", ".join(f"{count} {end}" for end, count in ended.where.items())
        sys.stdout.write(f"{ended.may_have_been_billed} counted for {name}, in {ended.deliveries} deliveries: {ends}\n")
        held = held and ended.may_have_been_billed == AT_WORST
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
