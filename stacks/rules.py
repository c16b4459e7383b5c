"""What a setting may be: each rule says it in words and reads what the CDK context gives.

A value comes from `cdk.json` (JSON) or from `-c name=value` (always text); a rule accepts both spellings.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Rule:
    """`read` returns the typed value or raises ValueError; `allowed` completes the sentence "it must be …"."""

    allowed: str
    read: Callable[[object], Any]


def whole(low: int, high: int, unit: str = "") -> Rule:
    def read(given: object) -> int:
        value = _as_int(given)
        if not low <= value <= high:
            raise ValueError
        return value

    return Rule(f"a whole number from {low} to {high}{_of(unit)}", read)


def seconds(low: float, high: float) -> Rule:
    def read(given: object) -> float:
        value = _as_float(given)
        if not low <= value <= high:
            raise ValueError
        return value

    return Rule(f"a number of seconds from {low:g} to {high:g}", read)


def one_of(*values: str) -> Rule:
    def read(given: object) -> str:
        if given not in values:
            raise ValueError
        return str(given)

    return Rule(f"one of {', '.join(values)}", read)


def whole_of(values: tuple[int, ...], unit: str) -> Rule:
    def read(given: object) -> int:
        value = _as_int(given)
        if value not in values:
            raise ValueError
        return value

    return Rule(f"one of {', '.join(map(str, values))}{_of(unit)}", read)


def text(pattern: str, allowed: str) -> Rule:
    def read(given: object) -> str:
        if not isinstance(given, str) or re.fullmatch(pattern, given) is None:
            raise ValueError
        return given

    return Rule(allowed, read)


def flag() -> Rule:
    spellings = {True: True, False: False, "true": True, "false": False}

    def read(given: object) -> bool:
        if not isinstance(given, (bool, str)) or given not in spellings:
            raise ValueError
        return spellings[given]

    return Rule("true or false", read)


def names() -> Rule:
    """Column names; compared as the reader of the CSV compares them, so case does not matter."""

    def read(given: object) -> tuple[str, ...]:
        parts = given.split(",") if isinstance(given, str) else given
        if not isinstance(parts, (list, tuple)) or not all(isinstance(part, str) for part in parts):
            raise ValueError
        columns = tuple(" ".join(part.split()).casefold() for part in parts)
        if not columns or "" in columns or any("," in c for c in columns) or len(set(columns)) != len(columns):
            raise ValueError
        return columns

    return Rule("column names, separated by commas, each once", read)


def limits() -> Rule:
    """Amounts by currency, as one text. Which codes are currencies the functions know, and refuse the others."""

    def read(given: object) -> str:
        if not isinstance(given, str):
            raise ValueError
        parts = [part.strip() for part in given.split(",") if part.strip()]
        if not all(re.fullmatch(r"[A-Z]{3}=[0-9]{1,12}", part) for part in parts):
            raise ValueError
        if len({part[:3] for part in parts}) != len(parts):
            raise ValueError
        return ",".join(parts)

    return Rule("amounts in minor units by currency, each currency once, such as EUR=5000,JPY=8000, or nothing", read)


def tick() -> Rule:
    def read(given: object) -> int:
        value = _as_int(given)
        if not (1 <= value < 60 or (value % 60 == 0 and 60 <= value <= 3600)):
            raise ValueError
        return value

    return Rule("a multiple of 60 seconds up to 3600 (under 60 only the local cloud can tick)", read)


def _as_int(given: object) -> int:
    if isinstance(given, bool):
        raise ValueError
    if isinstance(given, float) and given.is_integer():
        return int(given)
    if isinstance(given, int):
        return given
    if isinstance(given, str) and re.fullmatch(r"-?[0-9]{1,15}", given):
        return int(given)
    raise ValueError


def _as_float(given: object) -> float:
    if isinstance(given, bool):
        raise ValueError
    if isinstance(given, (int, float)):
        return float(given)
    if isinstance(given, str) and re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", given):
        return float(given)
    raise ValueError


def _of(unit: str) -> str:
    return f" {unit}" if unit else ""
