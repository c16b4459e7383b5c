"""Small worlds that between them take every road of a row, an upload and an operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from functions.classify.effect_item import effect_item, payload_hash
from functions.classify.task import build_task
from functions.effects.errors import MoveRefusedError
from functions.effects.outcomes import Outcome
from functions.effects.record import EffectRecord
from functions.effects.states import State
from functions.operate.approve import approve
from functions.operate.resume import resume
from functions.settings import TaskSettings
from functions.uploads.keys import record_id
from tests.effects.people import CUT_OFF, NO_ANSWER, OVERLOADED, WRONG_KEY, Roads, label
from tests.effects.service import Service

TASK = build_task(TaskSettings())
HEADER = "email,name,notes\n"
KEY = "uploads/leads.csv"


@dataclass(frozen=True)
class Scenario:
    """`build` makes the world anew; `ends` says where each valid row of its last upload ends when nothing dies:
    "outcome label-or-reason" by the person's name."""

    build: Callable[[], Service]
    ends: Mapping[str, str]


def csv(*names: str) -> bytes:
    return (HEADER + "".join(person(name) for name in names)).encode()


def person(name: str, notes: str = "") -> str:
    return f"{name.lower()}@example.com,{name},{notes}\n"


def effect_id(name: str) -> str:
    return record_id(TASK.name, TASK.key({"email": f"{name.lower()}@example.com", "name": name}))


def every_road() -> Service:
    """One row of each kind; the first one's event comes twice, the last one's not at all."""
    roads: Roads = {
        "Ada": [label("hot")],
        "Cleo": [OVERLOADED, label("warm")],
        "Dora": [CUT_OFF],
        "Emil": [NO_ANSWER],
        "Fred": [label("hot")],
        "Gina": [label("cold")],
    }
    world = Service(roads)
    _answered(world, "Fred", "warm")
    world.between.bus.twice, world.between.bus.lost = {1}, Counter({8: 1})
    lines = [person("Ada"), "no-address,Ben,\n", person("Ada").upper(), person("Cleo"), person("Dora"), ",,\n"]
    lines += [person("Emil"), person("Gina"), person("Fred")]
    world.upload((HEADER + "".join(lines)).encode(), KEY)
    return world


def _answered(world: Service, name: str, answer: str) -> None:
    """The key of a person holds an answer that another upload paid for."""
    item = effect_item(TASK, TASK.key(_fields(name)), TASK.rendered(_fields(name)))
    record = EffectRecord(
        id=item["id"],
        state=State.DONE,
        attempt=1,
        paid_attempts=1,
        payload_hash=payload_hash(item),
        origin="u-another/1",
        finished_at=int(world.clock()),
        outcome=Outcome.succeeded({"label": answer, "cost_microusd": 70}, model="m", request_id="req_0"),
    )
    world.account.idempotency.put_item(Item=record.model_dump(mode="json", exclude_none=True))


def _fields(name: str) -> dict[str, str]:
    return {"email": f"{name.lower()}@example.com", "name": name}


EVERY_ROAD = Scenario(
    every_road,
    {
        "Ada": "classified hot",
        "Cleo": "classified warm",
        "Dora": "failed llm_truncated",
        "Emil": "unknown llm_timeout_outcome_unknown",
        "Gina": "classified cold",
        "Fred": "classified warm",
    },
)


def paused() -> Service:
    """The key of the model's account is wrong until an operator has mended it."""
    world = Service({"Ada": [WRONG_KEY, label("hot")], "Ben": [label("warm")]}, orders=[let_go_on])
    world.upload(csv("Ada", "Ben"), KEY)
    return world


def let_go_on(world: Service) -> None:
    resume(world.uploads, only_upload(world), actor="ada", clock=world.clock)


PAUSED = Scenario(paused, {"Ada": "classified hot", "Ben": "classified warm"})


def waiting() -> Service:
    """Over the ceiling: an operator approves."""
    world = Service({"Ada": [label("hot")]}, orders=[let_run], max_upload_microusd=1)
    world.upload(csv("Ada"), KEY)
    return world


def let_run(world: Service) -> None:
    approve(world.uploads, only_upload(world), actor="ada", clock=world.clock)


WAITING = Scenario(waiting, {"Ada": "classified hot"})


def retried() -> Service:
    """Overloaded up to the last receive, and asked again by an operator."""
    world = Service({"Ada": [OVERLOADED, OVERLOADED, label("hot")]}, orders=[ask_again], max_receives=2)
    world.upload(csv("Ada"), KEY)
    return world


def ask_again(world: Service) -> None:
    world.workers.retry(world.between).retry(only_upload(world), actor="ada")


RETRIED = Scenario(retried, {"Ada": "classified hot"})


def proven() -> Service:
    """No answer came, and an operator brings the proof of what it was."""
    world = Service({"Emil": [NO_ANSWER]}, orders=[prove])
    world.upload(csv("Emil"), KEY)
    return world


def prove(world: Service) -> None:
    answer = Outcome.succeeded({"label": "warm", "cost_microusd": 70}, model="m", request_id="req_9")
    try:
        seen = world.workers.effects().read(effect_id("Emil"))
        assert seen is not None
        world.workers.resolver(world.between).prove_happened(seen, actor="ada", reason="in the log", outcome=answer)
    except MoveRefusedError:
        # Another operator has proven it.
        return


PROVEN = Scenario(proven, {"Emil": "classified warm"})


def unheard() -> Service:
    """The event of the object is lost, and the sweep of the bucket finds it."""
    world = Service({"Ada": [label("hot")]})
    world.upload(csv("Ada"), KEY, told=0)
    return world


UNHEARD = Scenario(unheard, {"Ada": "classified hot"})


def refused() -> Service:
    """No file of prospects; its event comes twice, and does not name the version."""
    world = Service({})
    world.upload(b"email,email\n", KEY, told=2, named=False)
    return world


REFUSED = Scenario(refused, {})


def joined() -> Service:
    """The same bytes under a second name."""
    world = Service({"Ada": [label("hot")]})
    world.upload(csv("Ada"), KEY)
    world.upload(csv("Ada"), "uploads/copy.csv")
    return world


JOINED = Scenario(joined, {"Ada": "classified hot"})


def unanswered() -> Service:
    """Every event of a row is lost, until the sweep gives it up."""
    world = Service({"Gina": [label("cold")]}, max_sweeps=1)
    world.between.bus.lost = Counter({1: 2})
    world.upload(csv("Gina"), KEY)
    return world


UNANSWERED = Scenario(unanswered, {"Gina": "failed never_answered"})


def held() -> Service:
    """Somebody else has claimed the key and dies, longer after the row's last receive than a message can wait."""
    world = Service({"Ada": [label("hot")]}, max_receives=1)
    item = effect_item(TASK, TASK.key(_fields("Ada")), TASK.rendered(_fields("Ada")))
    claim = EffectRecord(
        id=item["id"],
        state=State.CLAIMED,
        attempt=1,
        owner="somebody",
        origin="u-another/1",
        payload_hash=payload_hash(item),
        lease_until_ms=int((world.clock() + 90) * 1000),
    )
    world.account.idempotency.put_item(Item=claim.model_dump(mode="json", exclude_none=True))
    world.upload(csv("Ada"), KEY)
    return world


HELD = Scenario(held, {"Ada": "unknown lease_expired_outcome_unknown"})


def only_upload(world: Service) -> str:
    [item] = world.uploads.get_objects(world.versions).values()
    assert item.upload_id is not None
    return item.upload_id


SCENARIOS: Mapping[str, Scenario] = {
    "every road": EVERY_ROAD,
    "paused and resumed": PAUSED,
    "over the ceiling and approved": WAITING,
    "given up and retried": RETRIED,
    "unknown and proven": PROVEN,
    "its event lost": UNHEARD,
    "refused": REFUSED,
    "the same bytes twice": JOINED,
    "never answered": UNANSWERED,
    "held by a dead owner": HELD,
}
