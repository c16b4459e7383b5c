"""Subscriber filters: one pattern a scope, matched with the emulator's matcher of classic event patterns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from local.bus.model import BusError, StoredEvent
from local.emulator import Emulator

_MAX_BYTES = 4096
_SCOPES = ("DATA", "METADATA", "SYSTEM_METADATA")


class Filters:
    """Checks the patterns of a subscriber, and events against them."""

    def __init__(self, emulator: Emulator) -> None:
        self._eventbridge = emulator.eventbridge

    def checked(self, config: Mapping[str, Any]) -> Mapping[str, str]:
        """Pattern text by scope. Raises `BusError` for what the service refuses at creation."""
        filters: Sequence[Mapping[str, str]] = (config.get("FilterConfiguration") or {}).get("Filters") or ()
        by_scope = {found["Scope"]: found["Pattern"] for found in filters}
        if len(by_scope) < len(filters) or not set(by_scope) <= set(_SCOPES):
            raise BusError("InvalidInputException", f"A subscriber takes one filter for each of {', '.join(_SCOPES)}.")
        if sum(len(pattern.encode()) for pattern in by_scope.values()) > _MAX_BYTES:
            raise BusError("InvalidInputException", f"The filters have more than {_MAX_BYTES} bytes in all.")
        for scope, pattern in by_scope.items():
            self._check(scope, pattern)
        return by_scope

    def _check(self, scope: str, pattern: str) -> None:
        _, reason = self._eventbridge._parse_pattern_text(pattern)
        if reason:
            raise BusError("InvalidInputException", f"The {scope} filter is not valid: {reason}.")
        if _uses_wildcard(json.loads(pattern)):
            raise BusError("InvalidInputException", f"The {scope} filter uses wildcard, which the bus does not have.")

    def match(self, filters: Mapping[str, str], event: StoredEvent) -> bool:
        seen = {"DATA": event.envelope, "SYSTEM_METADATA": event.system, "METADATA": {}}
        return all(self._matches(pattern, seen[scope]) for scope, pattern in filters.items())

    def _matches(self, pattern: str, value: Mapping[str, Any]) -> bool:
        alternatives = self._eventbridge._compiled_pattern(pattern) or ()
        return any(self._eventbridge._matches_detail(value, alternative) for alternative in alternatives)


def _uses_wildcard(pattern: Any) -> bool:
    if isinstance(pattern, dict):
        return "wildcard" in pattern or any(_uses_wildcard(value) for value in pattern.values())
    return isinstance(pattern, list) and any(_uses_wildcard(value) for value in pattern)
