"""The standard wrapper of every event's detail, so that any consumer can tell what caused it and how far it came."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ulid import ULID

from functions.clock import Clock, wall_clock

SCHEMA_VERSION: Literal[1] = 1
MalformedReason = Literal["not_an_object", "unsupported_schema_version", "invalid_fields"]

EventId = Annotated[str, Field(pattern=r"^evt_[0-9A-HJKMNP-TV-Z]{26}$")]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Agent = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}@[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
EventType = Annotated[str, Field(pattern=r"^[a-z0-9_-]+(\.[a-z0-9_-]+)+$", max_length=128)]
Identity = Annotated[str, Field(min_length=1, max_length=128)]
Instant = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$")]


class MalformedEvent(ValueError):  # noqa: N818 - the design's word
    """An event's detail is not an envelope. `reason` is a code; `fields` are names of ours, never a value received."""

    def __init__(self, reason: MalformedReason, fields: tuple[str, ...] = ()) -> None:
        super().__init__(f"malformed event: {reason}" + (f" ({', '.join(fields)})" if fields else ""))
        self.reason: MalformedReason = reason
        self.fields = fields


class Envelope(BaseModel):
    """One event. `correlation_id` is the upload; `causation_id` names what made this event be sent.

    `lineage` names the agents it came through, the sender last, so a consumer that finds itself there would be
    answering its own event. `hops` counts the events before it in that chain. `occurred_at` is UTC, RFC 3339.
    """

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", hide_input_in_errors=True)

    event_id: EventId
    type: EventType
    schema_version: Literal[1] = 1
    occurred_at: Instant
    correlation_id: Identity
    causation_id: Identity | None = None
    source_agent: Agent
    hops: int = Field(ge=0)
    lineage: tuple[Name, ...] = Field(strict=False)
    data: dict[str, Any]

    @classmethod
    def new(
        cls,
        event_type: str,
        data: Mapping[str, Any],
        *,
        correlation_id: str,
        source_agent: str,
        causation_id: str | None = None,
        clock: Clock = wall_clock,
    ) -> Self:
        """The first event of a chain: no hops, and its sender is the only agent upstream."""
        return cls(
            event_id=_event_id(),
            type=event_type,
            occurred_at=_instant(clock()),
            correlation_id=correlation_id,
            causation_id=causation_id,
            source_agent=source_agent,
            hops=0,
            lineage=(_name(source_agent),),
            data=dict(data),
        )

    def child(
        self, event_type: str, data: Mapping[str, Any], *, source_agent: str, clock: Clock = wall_clock
    ) -> Envelope:
        """An event that this one caused: same correlation, one hop more, its sender added to the lineage."""
        return Envelope(
            event_id=_event_id(),
            type=event_type,
            occurred_at=_instant(clock()),
            correlation_id=self.correlation_id,
            causation_id=self.event_id,
            source_agent=source_agent,
            hops=self.hops + 1,
            lineage=(*self.lineage, _name(source_agent)),
            data=dict(data),
        )

    @classmethod
    def parse(cls, detail: object) -> Self:
        """Read an event's detail (a mapping). Raises MalformedEvent; what was received never appears in it."""
        if not isinstance(detail, Mapping):
            raise MalformedEvent("not_an_object")
        version = detail.get("schema_version", SCHEMA_VERSION)
        if type(version) is not int or version != SCHEMA_VERSION:  # True == 1.0 == 1
            raise MalformedEvent("unsupported_schema_version")
        try:
            return cls.model_validate({"schema_version": None, **detail})
        except ValidationError as error:
            faults = {str(fault["loc"][0]) for fault in error.errors(include_input=False) if fault["loc"]}
        raise MalformedEvent("invalid_fields", _names_of_ours(faults))

    def to_detail(self) -> dict[str, Any]:
        """The event's detail, ready for JSON."""
        return self.model_dump(mode="json")


def _names_of_ours(faults: set[str]) -> tuple[str, ...]:
    # A foreign field's name is text from outside, and may hold anything.
    named = sorted(faults & set(Envelope.model_fields))
    return (*named, "unknown field") if faults - set(named) else tuple(named)


def _event_id() -> str:
    return f"evt_{ULID()}"


def _instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _name(agent: str) -> str:
    return agent.partition("@")[0]
