"""The families of schedules: who meets whom over one key, and what may happen to them meanwhile."""

from __future__ import annotations

from .actors import Program
from .callers import LEASE_S, REPLIES, RETENTION_DAYS, giver_up, operator, owner, sweeper
from .turns import Family

Callers = tuple[tuple[str, Program], ...]

PAST_THE_LEASE = LEASE_S + 1.0
BACKWARD = -3.0
"""Smaller than the 5 s of grace: another machine's clock."""
PAST_THE_TTL = (RETENTION_DAYS + 1) * 86_400.0
IN_DOUBT = ("lost", "silent")


def owners(names: str, attempts: int = 1) -> Callers:
    return tuple((name, owner(name, attempts)) for name in names)


def operators(**orders: str) -> Callers:
    return tuple((name, operator(order, name)) for name, order in orders.items())


GIVER_UP: Callers = (("giver up", giver_up()),)
SWEEPER: Callers = (("sweeper", sweeper()),)
OTHERS: Callers = (("B", owner("B", 1, "another")), ("giver up", giver_up("a third")))

QUICK = (
    Family("claim, finish", owners("ABC"), REPLIES),
    Family("claim, doubt, retry", owners("ABC", 2), REPLIES, 2),
    Family("policies differ", owners("A", 2) + owners("B", 1) + owners("C", 2), REPLIES, 2),
    Family("lease over once", owners("ABC"), ("answered", "lost"), 1, (PAST_THE_LEASE,)),
    Family("lease over twice", owners("AB", 2), ("answered", "lost", "overloaded"), 2, (PAST_THE_LEASE,) * 2),
    Family("clocks differ", owners("AB", 2), ("answered", "lost"), 2, (PAST_THE_LEASE, BACKWARD)),
    Family("given up", owners("AB") + GIVER_UP, ("answered", "lost", "overloaded"), 1, (PAST_THE_LEASE,)),
    Family("swept", owners("AB", 2) + SWEEPER, (*IN_DOUBT, "overloaded", "refused"), 2, (PAST_THE_LEASE,)),
    Family("another payload", owners("A") + OTHERS, ("answered", "lost"), 1, (PAST_THE_LEASE,)),
    Family("ordered", owners("AB") + operators(ada="order_attempt"), REPLIES, 1, (PAST_THE_LEASE,)),
    Family(
        "ordered twice", owners("AB") + operators(ada="order_attempt", bob="order_attempt"), (*IN_DOUBT, "answered")
    ),
    Family("proven", owners("AB") + operators(ada="prove_happened"), REPLIES, 1, (PAST_THE_LEASE,)),
    Family("proven absent", owners("AB") + operators(ada="prove_absent"), REPLIES, 1, (PAST_THE_LEASE,)),
    Family("one proven absent", owners("AB", 2) + operators(ada="prove_absent", bob="prove_absent"), REPLIES, 2),
    Family("one of three absent", owners("ABC", 3) + operators(ada="prove_absent"), IN_DOUBT, 3),
    Family("order beside proof", owners("AB", 2) + operators(ada="prove_absent", bob="order_attempt"), IN_DOUBT, 2),
    Family("rerun", owners("AB", 2) + GIVER_UP + operators(ada="rerun"), REPLIES, 2),
    Family("rerun twice", owners("A") + GIVER_UP + operators(ada="rerun", bob="rerun"), ("overloaded", "refused")),
    Family("writes fail", owners("AB", 2), ("answered", "overloaded", "lost", "refused", "bug"), 2, faults=2),
    Family("writes fail, lease over", owners("AB"), ("answered", "overloaded"), 1, (PAST_THE_LEASE,), faults=1),
    Family("writes fail beside an operator", owners("AB", 2) + operators(ada="prove_absent"), IN_DOUBT, 2, faults=1),
    Family("an order fails", owners("AB") + operators(ada="order_attempt"), ("lost",), faults=1),
    Family("giving up fails", owners("A") + GIVER_UP + operators(ada="rerun"), ("overloaded", "refused"), faults=1),
    Family("expired", owners("AB") + GIVER_UP, ("refused",), 1, (PAST_THE_TTL,), 1, ("copied",), ttl=True),
)

ALL = (
    Family("four owners", owners("ABCD", 2), ("answered", *IN_DOUBT, "overloaded"), 2),
    Family("three owners, lease over", owners("ABC", 2), ("answered", "lost"), 2, (PAST_THE_LEASE,)),
    Family("three owners, writes fail", owners("ABC", 2), ("answered", "lost", "overloaded"), 2, faults=2),
    Family("a late answer that was not billed", owners("AB", 2) + SWEEPER + operators(ada="prove_absent"),
           ("lost", "refused"), 2, (PAST_THE_LEASE,)),
    Family("proven absent of two", owners("AB", 2) + operators(ada="prove_absent"), REPLIES, 2, (PAST_THE_LEASE,)),
    Family("order, proof and rerun", owners("AB") + GIVER_UP
           + operators(ada="order_attempt", bob="prove_absent", cyd="rerun"), (*IN_DOUBT, "overloaded", "refused")),
    Family("given up in every way", owners("AB", 2) + GIVER_UP, REPLIES, 2, (PAST_THE_LEASE,)),
    Family("expired under a late owner", owners("A") + SWEEPER + operators(ada="prove_happened") + owners("B"),
           ("answered",), 1, (PAST_THE_LEASE, PAST_THE_TTL), ttl=True),
)  # fmt: skip
"""More than `make test` has time for: `pytest tests/effects --explore=all`."""
