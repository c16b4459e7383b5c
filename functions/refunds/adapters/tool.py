"""The refund tool as agents see it, and what their host does before it calls it. Pure.

`request_id` is a property of the input, because arguments are all that reaches a tool through every protocol: an
AgentCore gateway gives a Lambda target the properties of the input schema and nothing else, and MCP has no field of
its own for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from functions.refunds.request import FIELDS, RefundRequest

NAME = "refund"
TITLE = "Refund an order"
DESCRIPTION = (
    "Pays one approved refund. Repeating a call with the same request_id never pays twice. Do not invent a request_id: "
    "the host fills it in from the approval. If the status is unknown or failed, report it and do not call again."
)

INPUT_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "request_id": {
            "type": "string",
            "description": "Names the approved action; filled in by the host, whatever was written here.",
        },
        "order_id": {"type": "string", "description": "The order that is refunded."},
        "amount_minor": {
            "type": "integer",
            "description": "The amount in the currency's minor unit: 1250 for 12.50 EUR.",
        },
        "currency": {"type": "string", "description": "The ISO 4217 code, as EUR."},
    },
    "required": list(FIELDS),
}
"""Only keywords that AgentCore's tool definitions know too; the rules themselves are `functions.refunds.request`'s."""

ANNOTATIONS: Mapping[str, Any] = {
    "title": TITLE,
    "readOnlyHint": False,
    # Money that was paid back does not return by a further call.
    "destructiveHint": True,
    # The same arguments again, request_id included, change nothing.
    "idempotentHint": True,
    # The payment provider is outside.
    "openWorldHint": True,
}
"""As the MCP specification of 2026-07-28 defines them ("Tools", "Schema reference")."""


def for_the_tool(written: Mapping[str, Any], approved: RefundRequest) -> dict[str, Any]:
    """The arguments to call with, for a host that had `approved` approved: the model's, under the approved request_id.

    Whatever the model wrote as request_id is replaced, or a retry that the model writes could carry a new one. Its
    other arguments stay as they are: where they are not the approved ones, the tool refuses the call.
    """
    return {**written, "request_id": approved.request_id}
