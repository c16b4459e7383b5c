"""The fenced writes on the `idempotency` table: every move compares state and attempt, and what its line demands."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from boto3.dynamodb.types import TypeDeserializer
from botocore.exceptions import ClientError
from pydantic import BaseModel

from functions.batch_get import batch_get
from functions.crash_points import crossing
from functions.effects.record import EffectRecord
from functions.effects.states import Event, Guard, Move
from functions.transactions import refused_by_condition

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table

_DESERIALIZER = TypeDeserializer()
_PAID = {
    Guard.NOTHING_PAID: ("=", 0),
    Guard.SOMETHING_PAID: (">", 0),
    Guard.ONE_PAID: ("=", 1),
    Guard.SEVERAL_PAID: (">", 1),
}


@dataclass(frozen=True)
class Refused:
    """The condition did not hold; `current` is what is stored instead (None: no item)."""

    current: EffectRecord | None


@dataclass(frozen=True)
class _Update:
    expression: str
    condition: str
    names: dict[str, str]
    values: dict[str, Any]


class EffectTable:
    """The `idempotency` table. boto3 owns the retries of a single call; a repeated write is recognised by its fence."""

    def __init__(self, table: Table, *, sleep: Callable[[float], None] = time.sleep) -> None:
        # The resource's client takes Python values, and unlike the resource may be shared by threads.
        self._client: Any = table.meta.client
        self._name = table.name
        self._sleep = sleep

    def read(self, effect_id: str) -> EffectRecord | None:
        with crossing("effects.read"):
            item = self._client.get_item(TableName=self._name, Key={"id": effect_id}, ConsistentRead=True).get("Item")
        return EffectRecord.from_item(item) if item else None

    def read_many(self, effect_ids: Sequence[str]) -> dict[str, EffectRecord]:
        """The records that exist among these ids; eventually consistent, since a claim decides, not this look."""
        keys = [{"id": effect_id} for effect_id in dict.fromkeys(effect_ids)]
        records = map(EffectRecord.from_item, batch_get(self._batch_get, self._name, keys, sleep=self._sleep))
        return {record.id: record for record in records}

    def _batch_get(self, request: dict[str, Any]) -> dict[str, Any]:
        with crossing("effects.read_many"):
            answer: dict[str, Any] = self._client.batch_get_item(RequestItems=request)
        return answer

    def create(self, event: Event, record: EffectRecord, expires_at: int | None = None) -> Refused | None:
        """The first write of a key; refused where an item exists, whoever wrote it."""
        item = record.model_dump(mode="json", exclude_none=True)
        if expires_at is not None:
            item["expiration"] = expires_at
        try:
            with crossing(f"effects.{event.name.lower()}"):
                self._client.put_item(
                    TableName=self._name,
                    Item=item,
                    ConditionExpression="attribute_not_exists(id)",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ClientError as error:
            return _refusal(error)
        return None

    def apply(
        self,
        seen: EffectRecord,
        move: Move,
        *,
        changes: dict[str, Any],
        remove: Sequence[str] = (),
        owner: str = "",
        now_ms: int = 0,
    ) -> EffectRecord | Refused:
        """Make one move of the table from the record as it was seen. `changes` are attributes to set.

        `owner` and `now_ms` (milliseconds since the epoch) are for lines that compare them: without, those refuse.
        """
        names = {"#state": "state", "#attempt": "attempt"}
        values: dict[str, Any] = {":seen_state": seen.state.value, ":seen_attempt": seen.attempt}
        # The fence: a move made from an image of the record is refused once anybody moved on.
        conditions = ["#state = :seen_state", "#attempt = :seen_attempt"]
        for guard in sorted(move.guards):
            conditions += _condition(guard, seen, names, values, owner=owner, now_ms=now_ms)
        sets = []
        for name, value in {**changes, "state": move.end.value}.items():
            names[f"#{name}"], values[f":{name}"] = name, _as_stored(value)
            sets.append(f"#{name} = :{name}")
        expression = "SET " + ", ".join(sets)
        if remove:
            names |= {f"#{name}": name for name in remove}
            expression += " REMOVE " + ", ".join(f"#{name}" for name in remove)
        update = _Update(expression, " AND ".join(conditions), names, values)
        refused = self._update(f"effects.{move.event.name.lower()}", seen.id, update)
        # Not read back: the fence held, so what was written over is what was seen, and the record is known.
        return refused or seen.after(move.end, changes, remove)

    def count_late_answer(self, effect_id: str) -> EffectRecord | None:
        """Note that an answer came after its attempt was overtaken: the one write without owner and attempt.

        Returns what is stored then; None: the item is gone.
        """
        update = _Update(
            "ADD #late_answers :one", "attribute_exists(id)", {"#late_answers": "late_answers"}, {":one": 1}
        )
        self._update("effects.count_late_answer", effect_id, update)
        return self.read(effect_id)

    def _update(self, operation: str, effect_id: str, update: _Update) -> Refused | None:
        try:
            with crossing(operation):
                self._client.update_item(
                    TableName=self._name,
                    Key={"id": effect_id},
                    UpdateExpression=update.expression,
                    ConditionExpression=update.condition,
                    ExpressionAttributeNames=update.names,
                    ExpressionAttributeValues=update.values,
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
        except ClientError as error:
            return _refusal(error)
        return None


def _condition(
    guard: Guard, seen: EffectRecord, names: dict[str, str], values: dict[str, Any], *, owner: str, now_ms: int
) -> list[str]:
    match guard:
        case Guard.OWNER:
            names["#owner"], values[":my_owner"] = "owner", owner
            return ["#owner = :my_owner"]
        case Guard.LEASE_OVER:
            names["#lease_until_ms"], values[":now_ms"] = "lease_until_ms", now_ms
            return ["#lease_until_ms < :now_ms"]
        case Guard.ATTEMPT_LEFT:
            # The caller found paid < policy + ordered in the record as seen; every move that pays trips the fence.
            names["#paid_attempts"], values[":seen_paid"] = "paid_attempts", seen.paid_attempts
            return ["#paid_attempts = :seen_paid"]
        case Guard.RESOLUTIONS_AS_SEEN:
            # Every decision is appended, so their number tells two images of one attempt apart.
            names["#resolutions"], values[":seen_resolutions"] = "resolutions", len(seen.resolutions)
            return ["size(#resolutions) = :seen_resolutions"]
        case Guard.NOTHING_PAID | Guard.SOMETHING_PAID | Guard.ONE_PAID | Guard.SEVERAL_PAID:
            comparison, number = _PAID[guard]
            names["#paid_attempts"], values[":paid_number"] = "paid_attempts", number
            return [f"#paid_attempts {comparison} :paid_number"]
        case Guard.UNBILLED_FAILURE:
            names |= {"#outcome": "outcome", "#kind": "kind", "#paid": "paid"}
            values |= {":failed": "failed", ":unpaid": False}
            return ["#outcome.#kind = :failed", "#outcome.#paid = :unpaid"]


def _as_stored(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return [_as_stored(each) for each in value] if isinstance(value, tuple) else value


def _refusal(error: ClientError) -> Refused:
    if not refused_by_condition(error):
        raise error
    # DynamoDB returns the item in its wire form here, even to the resource interface.
    item: Any = error.response.get("Item")
    return Refused(EffectRecord.from_item(_unmarshal(item)) if item else None)


def _unmarshal(item: dict[str, Any]) -> dict[str, Any]:
    return {name: _DESERIALIZER.deserialize(value) for name, value in item.items()}
