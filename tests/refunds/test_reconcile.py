"""The reconciler's passes: what it leaves alone, what it cannot finish, and that no action keeps others waiting."""

from __future__ import annotations

from typing import Any

import pytest

from functions.crash_points import Killed, armed, kill_at
from functions.refunds.keys import action_row
from functions.refunds.model import Action
from functions.refunds.providers.protocol import CannotTell, Reply
from functions.refunds.reconcile import Looked

from .world import SETTINGS, World

PAYMENT = "ch_10000eur_1"


class Provider:
    """Every refund of it is unknown; a look takes `look_s`, and fails for those in `broken`."""

    keys_retention_s: float | None = 0.0

    def __init__(self, world: World, look_s: float = 0.0) -> None:
        self._world = world
        self._look_s = look_s
        self.broken: set[str] = set()

    def refund(self, action: Action, *, before_send: Any, **_: Any) -> Reply:
        before_send()
        return Reply("unknown", "lost")

    def look_up(self, action: Action) -> CannotTell:
        if action.request_id in self.broken:
            raise ZeroDivisionError
        self._world.now += self._look_s
        return CannotTell("silent")


def unknown_ones(world: World, count: int, look_s: float = 0.0) -> tuple[Provider, list[Action]]:
    provider = Provider(world, look_s)
    world.providers["stripe"] = provider
    world.order(provider="stripe", payment=PAYMENT)
    actions = [world.approve(100) for _ in range(count)]
    for action in actions:
        assert world.run(action).status == "unknown"
    return provider, actions


def test_what_was_just_approved_is_left_to_whoever_asked_for_it_and_later_run(world: World) -> None:
    world.order()
    world.approve()
    assert world.reconcile() == ["waiting"]
    assert world.rows() == []
    world.now += SETTINGS.abandoned_s
    assert world.reconcile() == ["run"]
    assert len(world.rows()) == 1
    assert world.reconcile() == []


def test_a_look_that_fails_does_not_keep_the_others_from_theirs(world: World) -> None:
    provider, actions = unknown_ones(world, 3)
    provider.broken = {actions[1].request_id}
    looked = world.reconciler.run(deadline=world.now + 900).looked
    assert {each.request_id: each.verdict for each in looked} == {
        actions[0].request_id: "cannot_tell",
        actions[1].request_id: "error",
        actions[2].request_id: "cannot_tell",
    }
    assert [each.reason for each in looked if each.verdict == "error"] == ["ZeroDivisionError"]


def test_an_item_that_cannot_be_read_is_told_and_does_not_keep_the_others_from_their_look(world: World) -> None:
    world.order()
    broken, other = world.approve(100), world.approve(200)
    world.ledger_table.update_item(
        Key=action_row(broken.request_id),
        UpdateExpression="SET amount_minor = :text",
        ExpressionAttributeValues={":text": "a hundred"},
    )
    world.now += SETTINGS.abandoned_s
    looked = {each.request_id: each for each in world.reconciler.run(deadline=world.now + 900).looked}
    assert looked[broken.request_id] == Looked(broken.request_id, "error", "unreadable_item")
    assert looked[other.request_id].status == "done"
    assert [row["request_id"] for row in world.rows()] == [other.request_id]


def test_looks_that_take_a_whole_pass_do_not_keep_the_same_others_waiting_for_ever(world: World) -> None:
    _, actions = unknown_ones(world, 3, look_s=300)
    looked: set[str] = set()
    for _ in range(200):
        done = world.reconciler.run(deadline=world.now + 300)
        assert not done.complete
        looked |= {each.request_id for each in done.looked}
    assert looked == {action.request_id for action in actions}


@pytest.mark.parametrize("claimed", [True, False])
def test_a_claim_is_left_to_its_owner_while_its_lease_lives(world: World, *, claimed: bool) -> None:
    world.order()
    action = world.approve()
    point = "effects.claim.after" if claimed else "effects.claim.before"
    with armed(kill_at(point)), pytest.raises(Killed):
        world.run(action)
    assert world.reconcile() == ["in_progress" if claimed else "waiting"]
    assert world.rows() == []
