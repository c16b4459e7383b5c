"""What PutEvents refuses: the whole request, or one entry of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from local.bus.model import BusError

MAX_ENTRIES = 100
MAX_REQUEST_BYTES = 1_048_576
_MAX_LENGTHS = {"Source": 256, "DetailType": 128}
_MAX_ID = 128
_MAX_RESOURCES = 100
_MAX_RESOURCE = 2048


def check_request(request: Mapping[str, Any], size_bytes: int) -> None:
    """Raises `BusError` where the model's constraints reject the request, so that none of its entries is published."""
    if size_bytes > MAX_REQUEST_BYTES:
        raise _invalid(f"The request has {size_bytes} bytes; at most {MAX_REQUEST_BYTES} are allowed.")
    entries = request.get("Entries")
    if not isinstance(entries, list) or not 1 <= len(entries) <= MAX_ENTRIES:
        raise _invalid(f"Entries must hold 1 to {MAX_ENTRIES} entries.")
    content_based = bool(request.get("DeduplicationConfiguration"))
    for number, entry in enumerate(entries):
        _check_shape(number, entry)
        if content_based and "DeduplicationId" in (entry.get("SystemMetadata") or {}):
            raise _invalid(f"Entries[{number}]: give DeduplicationId or content-based deduplication, not both.")


def _check_shape(number: int, entry: Mapping[str, Any]) -> None:
    for name, longest in _MAX_LENGTHS.items():
        value = entry.get(name)
        if not isinstance(value, str) or not 1 <= len(value) <= longest:
            raise _invalid(f"Entries[{number}].{name} must have 1 to {longest} characters.")
    for name, value in (entry.get("SystemMetadata") or {}).items():
        if not 1 <= len(value) <= _MAX_ID or not value.strip():
            raise _invalid(
                f"Entries[{number}].SystemMetadata.{name} must have 1 to {_MAX_ID} characters, not all blank."
            )
    resources = entry.get("Resources") or []
    if len(resources) > _MAX_RESOURCES or any(len(resource) > _MAX_RESOURCE for resource in resources):
        raise _invalid(f"Entries[{number}].Resources holds too many or too long names.")


def fault_of(entry: Mapping[str, Any]) -> str:
    """Why this entry alone fails (VALIDATION_ERROR), or an empty text."""
    if entry["Source"].startswith("aws."):
        return "Source must not begin with 'aws.'."
    try:
        detail = json.loads(entry.get("Detail") or "{}")
    except ValueError:
        return "Detail is not JSON."
    return "" if isinstance(detail, dict) else "Detail is not a JSON object."


def _invalid(message: str) -> BusError:
    return BusError("InvalidInputException", message)
