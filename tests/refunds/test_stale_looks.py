"""What a look or a person found is about the attempt that was looked at, and settles no later one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from functions.refunds.errors import NotUnknownError
from functions.refunds.model import Action
from functions.refunds.providers.protocol import Absent, LookUp, Reply

from .world import INVOCATION_S, SETTINGS, World

SETTLED_S = INVOCATION_S + SETTINGS.lease_grace_s + SETTINGS.settle_s + 1


class Late:
    """Knows no keys, and answers nobody. Of the requests it gets it loses the first, and makes the others later."""

    keys_retention_s: float | None = 0.0

    def __init__(self) -> None:
        self.sent = 0
        self.during_a_look: Callable[[], Any] | None = None

    def refund(self, action: Action, *, before_send: Any, **_: Any) -> Reply:
        assert before_send()
        self.sent += 1
        return Reply("unknown", "lost")

    @property
    def made_in_the_end(self) -> int:
        return max(0, self.sent - 1)

    def look_up(self, action: Action) -> LookUp:
        # What is answered is what there was when the look began.
        meanwhile, self.during_a_look = self.during_a_look, None
        if meanwhile is not None:
            meanwhile()
        return Absent()


def lost(world: World) -> tuple[Late, Action]:
    """A refund whose first attempt came to nothing, long enough ago for its absence to be proof."""
    world.providers["stripe"] = provider = Late()
    world.order(provider="stripe", payment="ch_1")
    action = world.approve()
    assert world.run(action).status == "unknown"
    world.now += SETTLED_S
    return provider, action


def test_a_look_that_was_overtaken_does_not_prove_a_later_attempt_absent(world: World) -> None:
    provider, action = lost(world)
    # A call looks; before its answer is there, the reconciler has looked, believed it, and sent the second attempt.
    provider.during_a_look = world.reconcile
    assert world.run(action).status == "unknown"
    assert world.run(action).status == "unknown"
    assert (provider.sent, provider.made_in_the_end) == (2, 1)


def test_what_a_person_knows_of_one_attempt_lets_nothing_overtake_the_next(world: World) -> None:
    provider, action = lost(world)
    # The person looked into the first attempt; before they said so, the reconciler sent the second.
    assert world.reconcile() == ["run"]
    with pytest.raises(NotUnknownError):
        world.resolve.resolve(action.request_id, "absent", attempt=1, actor="ann", reason="not in the dashboard")
    assert world.run(action).status == "unknown"
    assert (provider.sent, provider.made_in_the_end) == (2, 1)
