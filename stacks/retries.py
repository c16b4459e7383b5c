"""One layer retries an effect: checked when a worker is made, so a second one cannot be added unnoticed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    """Something that may run a worker again for one event: `attempts` runs at most, the first included."""

    name: str
    attempts: int


class TwoLayersRetryError(ValueError):
    """The attempts of two layers multiply; the message names them."""


def worst_case_attempts(worker: str, layers: Sequence[Layer]) -> int:
    """Runs of the effect for one event, at most. Raises TwoLayersRetryError when more than one layer retries."""
    retrying = [layer for layer in layers if layer.attempts > 1]
    if len(retrying) > 1:
        named = " and ".join(f"{layer.name} ({layer.attempts} attempts)" for layer in retrying)
        raise TwoLayersRetryError(f"worker {worker}: {named} both retry its effect; leave it to one of them.")
    return retrying[0].attempts if retrying else 1
