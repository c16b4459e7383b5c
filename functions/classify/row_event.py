"""A row as it arrives: the queue's message, the classic envelope in it, ours inside, and the row's own data. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from functions.classify.effect_item import EffectItem, effect_item
from functions.classify.task import NothingToClassifyError, Task
from functions.events.envelope import Envelope, MalformedEvent
from functions.uploads.keys import row_origin
from functions.uploads.model import Upload
from functions.uploads.terminal import RowIdentity

EVENT_TYPE = "prospect.submitted"
MALFORMED = "malformed_event"
KEY_MISMATCH = "key_mismatch"


@dataclass(frozen=True)
class Message:
    """One message of the queue. `receives` counts deliveries, this one included."""

    message_id: str
    receipt: str
    body: str
    receives: int


class RowData(BaseModel):
    """The `data` of a row's event, checked strictly: `fields` are canonical names and their text."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    upload_id: Annotated[str, Field(min_length=1, max_length=128)]
    # What a file and a sort key can hold; DynamoDB would refuse to keep more after it was paid for.
    row_number: int = Field(ge=1, lt=10**9)
    line: int = Field(ge=1, lt=10**12)
    key: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    fields: dict[str, str]

    @property
    def origin(self) -> str:
        """What asks for the effect; kept in its record, so that every other row of the key is told apart."""
        return row_origin(self.upload_id, self.row_number)

    def identity(self, prompt_version: str) -> RowIdentity:
        return RowIdentity(self.upload_id, self.row_number, self.line, self.key, prompt_version)


@dataclass(frozen=True)
class Row:
    """A row that may be classified: its message, its data, its upload as this batch read it, with its task, and the
    effect's item."""

    message: Message
    data: RowData
    upload: Upload
    task: Task
    item: EffectItem


class MalformedRowError(ValueError):
    """The message holds no row of ours. What was received appears nowhere in it."""


class KeyMismatchError(ValueError):
    """The event's key is not the key of its fields under its upload's task."""


def parse_row(body: str) -> tuple[Envelope, RowData]:
    """Read a message's body. Raises MalformedRowError."""
    try:
        event: Any = json.loads(body)
        if not isinstance(event, dict) or event.get("detail-type") != EVENT_TYPE:
            raise MalformedRowError(MALFORMED)
        envelope = Envelope.parse(event.get("detail"))
        data = RowData.model_validate(envelope.data)
    except (MalformedEvent, ValueError, RecursionError):
        # `from None`: these quote what they were given, and that is somebody's personal data.
        raise MalformedRowError(MALFORMED) from None
    if envelope.type != EVENT_TYPE or envelope.correlation_id != data.upload_id:
        raise MalformedRowError(MALFORMED)
    return envelope, data


def verified_row(message: Message, data: RowData, upload: Upload, task: Task) -> Row:
    """The row with its effect, after computing its key again. Raises KeyMismatchError.

    A key that was taken from the event alone could be paid for again under another name, or answer with a stranger's
    label.
    """
    try:
        key = task.key(data.fields)
    except UnicodeEncodeError:
        raise MalformedRowError(MALFORMED) from None
    except NothingToClassifyError:
        raise KeyMismatchError(KEY_MISMATCH) from None
    if key != data.key:
        raise KeyMismatchError(KEY_MISMATCH)
    return Row(message, data, upload, task, effect_item(task, key, task.rendered(data.fields)))
