"""Claude through the official SDK as it comes: one client a sandbox, automatic retries as they are by default.

Retries: "connection errors, rate limits, and 5xx", two of them, by default
(https://platform.claude.com/docs/en/api/errors). A structured answer is the JSON text of the first text block
(https://platform.claude.com/docs/en/build-with-claude/structured-outputs).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

import anthropic
from aws_lambda_powertools.utilities import parameters

from functions.classify.task import LABELS, Task

TASK = Task.from_json(os.environ["TASK"])
"""The very task of our stack, so that both send the same request for the same row."""

_client = anthropic.Anthropic(
    api_key=str(parameters.get_secret(os.environ["ANTHROPIC_SECRET_ID"])),
    # The default of ten minutes outlives any function with a shorter timeout; max_retries stays at its default.
    timeout=float(os.environ["MODEL_DEADLINE_S"]),
)


def ask(fields: Mapping[str, str]) -> str:
    """The label of one row. Raises what the SDK raises, and ValueError for an answer that is no label."""
    message = _client.messages.create(**TASK.request(fields))
    text = next(block.text for block in message.content if block.type == "text")
    label = str(json.loads(text)["label"])
    if label not in LABELS:
        raise ValueError("the answer is no label")
    return label
