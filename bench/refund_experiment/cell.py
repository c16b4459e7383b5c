"""One cell of the experiment: what one variant came to under one injection. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.refund_experiment.injections import Injection
from bench.refund_experiment.variants import Variant


@dataclass(frozen=True)
class Cell:
    """`rows`: side effects by request_id, of the requests that were to fail; `others`: of the rest of their batches.

    `calls`: by how often a failing request was called, the number of such requests. `reused`: by the error that the
    same key with another amount ended in ("" for none), the number of such calls. `amiss`: what else is not as it must
    be, a sentence each.
    """

    injection: Injection
    variant: Variant
    rows: Mapping[str, int]
    others: Mapping[str, int] = field(default_factory=dict)
    calls: Mapping[int, int] = field(default_factory=dict)
    reused: Mapping[str, int] = field(default_factory=dict)
    amiss: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """The article's rule: exactly one side effect a request_id, and a changed amount raises."""
        one_each = all(count == 1 for count in (*self.rows.values(), *self.others.values()))
        return one_each and not self.amiss and "" not in self.reused

    @property
    def effects(self) -> str:
        """Side effects a request_id, as `2 x 3`: two of each of three requests."""
        failing = _spread(self.rows)
        return f"{failing} (others {_spread(self.others)})" if self.others else failing

    def to_json(self) -> dict[str, Any]:
        return {
            "injection": self.injection.name,
            "variant": self.variant.name,
            "requests": len(self.rows) + len(self.others),
            "side_effects": _counted(self.rows),
            "side_effects_of_the_others": _counted(self.others),
            "calls": {str(calls): number for calls, number in sorted(self.calls.items())},
            "errors_of_another_amount": dict(self.reused),
            "amiss": list(self.amiss),
            "passed": self.passed,
            "seconds": round(self.seconds, 1),
        }


def _counted(rows: Mapping[str, int]) -> dict[str, int]:
    return {str(count): number for count, number in sorted(Counter(rows.values()).items())}


def _spread(rows: Mapping[str, int]) -> str:
    return ", ".join(f"{count} x {number}" for count, number in _counted(rows).items())
