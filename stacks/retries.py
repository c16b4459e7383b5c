"""Retry arithmetic: the layers that may do something again for one event, and the most that comes of them.

One layer repeats an effect: checked when a worker is made, so a second one cannot be added unnoticed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Repeats = Literal["run", "request", "hand-over", "AWS call"]
"""What another attempt of a layer does again.

A hand-over is over when the next layer has taken the event, and an AWS call when it is answered; both are made so that
doing them twice changes nothing. A run and a request, to the model or to a payment provider, are the effect itself.
"""


@dataclass(frozen=True)
class Layer:
    """Something that tries again for one event: `attempts` at most, the first included."""

    name: str
    attempts: int
    repeats: Repeats = "run"


@dataclass(frozen=True)
class Retries:
    """All layers of one worker, the outermost first. Times of one event as each layer takes it.

    `billable`: requests for one row or one refund that may be billed, whatever the layers do, which the claim keeps
    (`max_paid_attempts`); 0 for a worker that makes none, None where no claim bounds them.
    """

    worker: str
    layers: Sequence[Layer]
    billable: int | None = 0

    @property
    def runs(self) -> int:
        return math.prod(layer.attempts for layer in self.layers if layer.repeats == "run")

    @property
    def requests(self) -> int:
        """Requests at most, those included that are answered unbilled."""
        if self.billable == 0:
            return 0
        return self.runs * math.prod(layer.attempts for layer in self.layers if layer.repeats == "request")

    @property
    def billed(self) -> int:
        """Requests that may be billed, at most."""
        return self.requests if self.billable is None else min(self.requests, self.billable)


class TwoLayersRetryError(ValueError):
    """The attempts of two layers multiply; the message names them."""


def checked(retries: Retries) -> Retries:
    """The same. Raises TwoLayersRetryError when more than one layer repeats the effect."""
    repeating = [layer for layer in retries.layers if layer.attempts > 1 and layer.repeats in {"run", "request"}]
    if len(repeating) > 1:
        named = " and ".join(f"{layer.name} ({layer.attempts} attempts)" for layer in repeating)
        raise TwoLayersRetryError(f"worker {retries.worker}: {named} both retry its effect; leave it to one of them.")
    return retries


def anthropic_sdk(attempts: int = 1) -> Layer:
    """What the SDK's client is made with (`max_retries` = attempts - 1); a test holds the code to it."""
    return Layer("the Anthropic SDK", attempts, "request")


def stripe_library() -> Layer:
    """Made with `max_network_retries=0`; a test holds the code to it."""
    return Layer("the Stripe library", 1, "request")


NAIVE = Retries("the naive stack", [Layer("the queue", 3), anthropic_sdk(3)], billable=None)
"""The same work as it is usually built: the SDK's default of two retries behind a queue that delivers three times."""


def retries_text(workers: Sequence[Retries]) -> str:
    """A line for each worker, for the terminal."""
    return "".join(f"{line}\n" for line in _lines(workers))


def retries_table(workers: Sequence[Retries]) -> str:
    """The same as Markdown, with the naive stack's arithmetic beside it."""
    head = "| | what may try again, the outermost first | runs of one event, at most | requests | of them billed |\n"
    return f"{head}|---|---|---:|---:|---:|\n" + "".join(
        f"| {' | '.join(_cells(each))} |\n" for each in [*workers, NAIVE]
    )


def _lines(workers: Sequence[Retries]) -> Iterator[str]:
    yield "retries: one layer repeats an effect; of one event at most"
    width = max(len(each.worker) for each in workers)
    for each in workers:
        layers = ", ".join(f"{layer.name} {layer.attempts}" for layer in each.layers if _counts(layer))
        asked = f", {_number(each.requests, 'request')}, {each.billed} of them billed" if each.requests else ""
        yield f"  {each.worker:{width}}  {_number(each.runs, 'run')}{asked} ({layers})"


def _cells(each: Retries) -> list[str]:
    layers = "; ".join(f"{layer.name}: {_number(layer.attempts, layer.repeats)}" for layer in each.layers)
    factors = " × ".join(str(layer.attempts) for layer in each.layers if _counts(layer))
    requests = f"{factors} = {each.requests}" if each.requests else "none"
    return [each.worker, layers, str(each.runs), requests, str(each.billed)]


def _counts(layer: Layer) -> bool:
    return layer.repeats in {"run", "request"}


def _number(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
