"""The approver's clock decides nothing about what a provider still remembers."""

from __future__ import annotations

from .test_stripe import DAY_S, at_the_first_request, paying
from .world import World


def test_an_approval_by_a_clock_that_is_ahead_keeps_no_repeat_from_looking_first(world: World) -> None:
    with paying(world, at_the_first_request({"drop": "after_applying"})) as provider:
        world.now += DAY_S
        action = world.approve()
        world.now -= DAY_S
        assert world.run(action).status == "unknown"
        world.resolve.resolve(action.request_id, "absent", attempt=1, actor="ann", reason="not in the dashboard")
        world.now += DAY_S + 1
        assert world.run(action).status == "done"
        assert provider.standin.counts()["by_request_id"] == {action.request_id: 1}
