"""The table in memory, in which interleavings are explored, does what moto does with every request of the store."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from functions.effects.outcomes import Outcome
from functions.effects.record import EffectRecord, Resolution
from functions.effects.states import MOVES, Event, Move, State
from functions.effects.table import EffectTable

from .memory import Item, execute, frozen, response
from .memory import table as table_of

OWNERS = st.sampled_from(["A", "B"])
COUNTS = st.integers(0, 3)
TIMES = st.integers(1_000, 1_003)
OUTCOMES = st.sampled_from(
    [
        None,
        Outcome.succeeded({"label": "hot", "scores": [1, 2], "usage": {"in": 0}}, request_id="é"),
        Outcome.failed("r", paid=True),
        Outcome.failed("r", paid=False, retryable=True),
        Outcome.released("r", retry_after_s=3),
        Outcome.unknown("r"),
    ]
)
RECORDS = st.builds(
    EffectRecord,
    id=st.just("t:k"),
    state=st.sampled_from([state for state in State if state is not State.ABSENT]),
    attempt=COUNTS,
    paid_attempts=COUNTS,
    ordered_attempts=COUNTS,
    owner=OWNERS,
    lease_until_ms=TIMES,
    payload_hash=st.just("h"),
    outcome=OUTCOMES,
    resolutions=st.lists(st.builds(Resolution, event=OWNERS, actor=OWNERS, reason=OWNERS, at=TIMES), max_size=2),
)
# None: the move starts from what is stored, so that it is made where its guards hold; else from any other image.
SEEN = st.one_of(st.none(), RECORDS)


class Both:
    """A client that sends each request to moto and to the table in memory, and compares what both say."""

    def __init__(self, client: Any, item: Item) -> None:
        self._client = client
        self.item = item
        self.requests = 0

    def __getattr__(self, operation: str) -> Any:
        def call(**request: Any) -> Any:
            self.requests += 1
            self.item, answer = execute(self.item, operation, request)
            here = _said(lambda: response(operation, answer))
            there = _said(lambda: getattr(self._client, operation)(**request))
            assert here == there
            return response(operation, answer)

        return call


def _said(call: Any) -> tuple[str, Any]:
    try:
        item = call().get("Item")
    except ClientError as error:
        return error.response["Error"]["Code"], error.response.get("Item")
    return "", frozen(item) if item else None


@given(
    stored=st.one_of(st.none(), RECORDS),
    seen=SEEN,
    move=st.sampled_from([move for move in MOVES if move.start is not State.ABSENT]),
    owner=OWNERS,
    now_ms=TIMES,
    outcome=OUTCOMES,
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_answers_and_stores_what_moto_does(
    table: Any,
    *,
    stored: EffectRecord | None,
    seen: EffectRecord | None,
    move: Move,
    owner: str,
    now_ms: int,
    outcome: Outcome | None,
) -> None:
    table.delete_item(Key={"id": "t:k"})
    item = stored and stored.model_dump(mode="json", exclude_none=True)
    if item:
        table.put_item(Item=item)
    both = Both(table.meta.client, item and frozen(item))
    effects = EffectTable(table_of(both))
    image = seen or stored or EffectRecord(id="t:k", state=move.start, attempt=1, payload_hash="h")
    changes = {"outcome": outcome, "finished_at": 7} if outcome else {"paid_attempts": 2}
    effects.apply(image, move, owner=owner, now_ms=now_ms, changes=changes, remove=("origin", "absent"))
    effects.create(Event.CLAIM, image, expires_at=9)
    effects.count_late_answer("t:k")
    effects.read("t:k")
    assert both.requests == 5


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("delete_item", {}),
        ("get_item", {"Key": {"id": None}}),
        ("get_item", {}),
        ("put_item", {"Item": {"id": "t:k"}, "ConditionExpression": "attribute_not_exists(id) OR expiration < :now"}),
        ("update_item", {"ConditionExpression": "attribute_exists(id)", "UpdateExpression": "SET #n = #n + :one"}),
    ],
)
def test_a_form_that_it_does_not_know_is_refused(operation: str, request_: dict[str, Any]) -> None:
    named = {"Key": {"id": "t:k"}, "ExpressionAttributeNames": {"#n": "n"}, "ExpressionAttributeValues": {":one": 1}}
    with pytest.raises(ValueError, match="does not know"):
        execute(frozen({"id": "t:k"}), operation, named | request_)
