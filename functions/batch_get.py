"""BatchGetItem whole: DynamoDB may leave keys of a call unread, and they are asked for again."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

KEYS_A_CALL = 100
"""Keys a BatchGetItem call takes (DynamoDB API reference)."""
_ROUNDS = 8


class UnreadKeysError(Exception):
    """DynamoDB left keys of a batch unread in every round: it is throttling. Nothing was changed; try later."""


def batch_get(
    get_items: Callable[[dict[str, Any]], dict[str, Any]],
    table_name: str,
    keys: Sequence[dict[str, str]],
    *,
    sleep: Callable[[float], None],
    consistent: bool = False,
) -> Iterator[dict[str, Any]]:
    """The items that exist of these distinct keys, in no order. `get_items`: BatchGetItem of one RequestItems."""
    for start in range(0, len(keys), KEYS_A_CALL):
        request: Any = {table_name: {"Keys": keys[start : start + KEYS_A_CALL], "ConsistentRead": consistent}}
        for round_number in range(_ROUNDS):
            answer = get_items(request)
            yield from answer["Responses"].get(table_name, ())
            request = answer.get("UnprocessedKeys")
            if not request:
                break
            sleep(random.uniform(0, 0.1 * 2**round_number))
        else:
            raise UnreadKeysError(f"DynamoDB left {len(request[table_name]['Keys'])} of a batch's keys unread")
