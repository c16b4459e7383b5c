"""The tools that are compared, and how each is deployed. Data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from functions.refunds.model import ProviderName


@dataclass(frozen=True)
class Tool:
    """One deployment. `switches`: how the naive function is set; None: ours."""

    name: str
    # Not part of the hash, for a mapping has none; the name is enough.
    switches: Mapping[str, str] | None = field(default=None, hash=False)

    @property
    def is_ours(self) -> bool:
        return self.switches is None

    @property
    def keeps_records(self) -> bool:
        return self.switches is None or self.switches["DECORATOR"] == "on"


NOTHING = Tool("nothing", {"DECORATOR": "off", "CONDITIONAL": "off"})
DECORATOR = Tool("decorator", {"DECORATOR": "on", "CONDITIONAL": "off"})
CONDITIONAL = Tool("conditional", {"DECORATOR": "on", "CONDITIONAL": "on"})
OURS = Tool("ours")
TOOLS: Sequence[Tool] = (NOTHING, DECORATOR, CONDITIONAL, OURS)


@dataclass(frozen=True)
class Variant:
    """A column of the experiment. Those of one tool differ in the provider, or in what is asked of it afterwards.

    `reuses`: once all is over, the key comes again with another amount.
    """

    name: str
    says: str
    tool: Tool
    provider: ProviderName = "ledger"
    reuses: bool = False


VARIANTS: Sequence[Variant] = (
    Variant("1", "nothing", NOTHING),
    Variant("2", "decorator only", DECORATOR),
    Variant("3", "decorator and conditional write", CONDITIONAL),
    Variant("4", "3, then the key with another amount", CONDITIONAL, reuses=True),
    Variant("5", "ours, the refund a ledger row", OURS, reuses=True),
    Variant("5s", "ours, the refund at Stripe's stand-in", OURS, provider="stripe", reuses=True),
)


@dataclass(frozen=True)
class Points:
    """Where a call can fail: the points of the code, in the order in which a first call passes them.

    `written`: the article's own moment, right after the side effect.
    """

    written: str
    all: Sequence[str] = field(default=())


def _both_sides(*calls: str) -> tuple[str, ...]:
    return tuple(f"{call}.{side}" for call in calls for side in ("before", "after"))


_CLAIM, _FINISH = ("refunds.get_action", "effects.claim"), ("effects.finish",)
_ROW, _STRIPE = "refunds.create_refund", "refunds.stripe_create"
POINTS: Mapping[tuple[bool, ProviderName], Points] = {
    (False, "ledger"): Points("written", ("written",)),
    (True, "ledger"): Points(f"{_ROW}.after", (*_both_sides(*_CLAIM, _ROW, *_FINISH), "answered")),
    (True, "stripe"): Points(f"{_STRIPE}.after", (*_both_sides(*_CLAIM, _STRIPE, *_FINISH, _ROW), "answered")),
}
"""By whether the tool is ours, and by the provider."""


def points_of(variant: Variant) -> Points:
    return POINTS[variant.tool.is_ours, variant.provider]
