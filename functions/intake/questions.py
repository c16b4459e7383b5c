"""A valid record as the task sees it: the fields shown to the model, and the key they make. Pure.

Admission makes a key for every row of a file, so the row is spelled here once, in the bytes that `Task.key` and the
price are defined on, instead of through a dict of everything for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, TypeVar

from functions.uploads.keys import canonical_json

if TYPE_CHECKING:
    from functions.classify.task import Task
    from functions.intake.records import Record

LOOK_UP = 100
"""Keys looked up together: what one BatchGetItem call takes."""
T = TypeVar("T")


@dataclass(slots=True)
class Question:
    """One row to be answered. `key` is made of exactly the fields shown to the model; `effect_id` is where its answer
    is stored. Both are empty when nothing would be shown: such rows would share one key, and with it one answer.

    `shown_bytes` is the size of what is shown, as the user message spells it. `fields` are all that the record has.
    """

    row_number: int
    line: int
    fields: Mapping[str, str]
    key: str
    effect_id: str
    shown_bytes: int


class Questions:
    """Makes questions for one task, whose version is computed once."""

    def __init__(self, task: Task) -> None:
        self._columns = tuple((column, encode_basestring(column) + ":") for column in sorted(set(task.columns)))
        everything_else = {"task": task.name, "prompt_version": task.prompt_version, "fields": {}}
        # The canonical spelling of what a key is made of, around the place of the fields.
        before, _, behind = canonical_json(everything_else).decode().partition("{}")
        self._before, self._behind = before + "{", "}" + behind
        self._around = len(before.encode()) + len(behind.encode())
        self._id_prefix = f"{task.name}:"

    def of(self, record: Record) -> Question:
        fields = record.fields
        # Not a generator: joining a list costs half.
        shown = ",".join(
            [name + encode_basestring(text) for column, name in self._columns if (text := fields.get(column))]
        )
        if not shown:
            return Question(record.number, record.line, fields, "", "", 0)
        spelled = (self._before + shown + self._behind).encode()
        key = sha256(spelled).hexdigest()
        size = len(spelled) - self._around
        if "<" in shown or ">" in shown or "&" in shown:
            # Inside the user message these three are escapes of six characters.
            size += 5 * (shown.count("<") + shown.count(">") + shown.count("&"))
        return Question(record.number, record.line, fields, key, self._id_prefix + key, size)


def batches(items: Iterable[T], size: int = LOOK_UP) -> Iterator[list[T]]:
    """The items in order, in lists of `size` and a rest."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
