"""The script of the stand-in: a JSON list of rules, the first that matches answers; no rule, and the scorer answers.

A rule is `{"when": {"contains": text} | {"request": n}, "times": k, "then": …}`. `contains` looks in the row's text,
`request` counts every request that arrives, from 1. `times` is how often the rule may answer (default: always).
`then` is one of
`{"text": …, "stop_reason": …, "usage": {…}}` (what is left out is the scorer's),
`{"status": n, "type": …, "code": …, "message": …, "headers": {…}, "body": text}` (`body` replaces the JSON error body),
`{"drop": "before_reading" | "after_reading" | "in_the_answer"}`, or
`{"delay_s": seconds}`, which may also accompany the first two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local.errors import ScriptError

_ANSWER = {"text", "stop_reason", "usage"}
_ERROR = {"status", "type", "code", "message", "headers", "body"}
_STOP_REASONS = ("end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal")
_DROPS = ("before_reading", "after_reading", "in_the_answer")
_COUNTS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_LONGEST_DELAY_S = 3600
_HALVES = re.compile("[\ud800-\udfff]")
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_TEXT = re.compile(r"(?:[!-~](?:[ -~]*[!-~])?)?")


@dataclass(frozen=True)
class Then:
    """What a rule answers. Fields that a rule does not set are None or empty."""

    text: str | None = None
    stop_reason: str | None = None
    usage: Mapping[str, int] = field(default_factory=dict)
    status: int | None = None
    error_type: str | None = None
    code: str | None = None
    message: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    drop: str | None = None
    delay_s: float = 0.0


@dataclass(frozen=True)
class Rule:
    contains: str | None
    request: int | None
    times: int | None
    then: Then


def read_script(path: Path) -> list[Any]:
    """The JSON of a script file, checked. Raises `ScriptError`."""
    raw = decoded(path)
    parse_script(raw)
    return list(raw)


def decoded(path: Path) -> Any:
    """The JSON of a file, whatever it is. Raises `ScriptError`."""
    try:
        # Editors on Windows begin a text with a mark.
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ScriptError(f"The script {path} cannot be read ({error.strerror}).") from None
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}"
        raise ScriptError(f"The script {path} is not JSON: at {at}: {error.msg}.") from None
    except UnicodeDecodeError:
        raise ScriptError(f"The script {path} is not UTF-8 text; save it as UTF-8.") from None
    except RecursionError:
        raise ScriptError(f"The script {path} is no script: its lists or objects are nested too deeply.") from None
    except ValueError:
        raise ScriptError(f"The script {path} holds a number with too many digits.") from None


def parse_script(raw: Any) -> tuple[Rule, ...]:
    """Rules of a decoded script. Raises `ScriptError` with the rule's number, counted from 1."""
    if not isinstance(raw, list):
        raise ScriptError("A script is a JSON list of rules.")
    return tuple(_rule(number, rule) for number, rule in enumerate(raw, start=1))


def _rule(number: int, raw: Any) -> Rule:
    if not isinstance(raw, dict):
        raise _fault(number, "is not an object")
    _known(number, raw, {"when", "times", "then"}, "")
    times = raw.get("times")
    if times is not None and not _whole(times, 1):
        raise _fault(number, "times is not a whole number of at least 1")
    contains, request = _when(number, raw.get("when"))
    return Rule(contains, request, times, _then(number, raw.get("then")))


def _when(number: int, when: Any) -> tuple[str | None, int | None]:
    if not isinstance(when, dict) or len(when) != 1:
        raise _fault(number, "when is not an object with either contains or request")
    _known(number, when, {"contains", "request"}, "when.")
    if "contains" in when:
        if not _is_text(when["contains"]) or not when["contains"]:
            raise _fault(number, "when.contains is not a text")
        return when["contains"], None
    if not _whole(when["request"], 1):
        raise _fault(number, "when.request is not a whole number of at least 1")
    return None, when["request"]


def _then(number: int, then: Any) -> Then:
    if not isinstance(then, dict) or not then:
        raise _fault(number, "then is not an object that says what to answer")
    _known(number, then, _ANSWER | _ERROR | {"drop", "delay_s"}, "then.")
    kinds = [bool(then.keys() & _ANSWER), bool(then.keys() & _ERROR), "drop" in then]
    if sum(kinds) > 1 or ("drop" in then and len(then) > 1):
        raise _fault(number, "then mixes an answer, an error and a drop; it takes one of them")
    if then.keys() & _ERROR and "status" not in then:
        raise _fault(number, "then describes an error without a status")
    for name, allowed, says in _CHECKS:
        if name in then and not allowed(then[name]):
            raise _fault(number, f"then.{name} is not {says}")
    return Then(
        **{
            name: then[name]
            for name in (*_ANSWER, "status", "code", "message", "headers", "body", "drop")
            if name in then
        },
        error_type=then.get("type"),
        delay_s=float(then.get("delay_s", 0)),
    )


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_text(value: Any) -> bool:
    """Text that can be sent: JSON may spell half of a character, which no encoding has."""
    return isinstance(value, str) and not _HALVES.search(value)


def _is_delay(value: Any) -> bool:
    # A comparison with not-a-number is never true.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _LONGEST_DELAY_S


def _is_usage(value: Any) -> bool:
    return (
        isinstance(value, dict) and value.keys() <= set(_COUNTS) and all(_whole(count, 0) for count in value.values())
    )


def _are_headers(value: Any) -> bool:
    return isinstance(value, dict) and all(
        _HEADER_NAME.fullmatch(name) and isinstance(text, str) and _HEADER_TEXT.fullmatch(text)
        for name, text in value.items()
    )


_CHECKS = (
    ("text", _is_text, "a text"),
    ("stop_reason", lambda v: v in _STOP_REASONS, f"one of {', '.join(_STOP_REASONS)}"),
    ("usage", _is_usage, f"an object of token counts, which may be {', '.join(_COUNTS)}"),
    ("status", lambda v: _whole(v, 200) and v <= 599, "an HTTP status from 200 to 599"),
    ("type", _is_text, "a text"),
    ("code", _is_text, "a text"),
    ("message", _is_text, "a text"),
    ("headers", _are_headers, "an object of HTTP header names and their texts"),
    ("body", _is_text, "a text"),
    ("drop", lambda v: v in _DROPS, f"one of {', '.join(_DROPS)}"),
    ("delay_s", _is_delay, f"a number of seconds from 0 to {_LONGEST_DELAY_S}"),
)


def _known(number: int, raw: Mapping[str, Any], known: set[str], prefix: str) -> None:
    unknown = sorted(set(raw) - known)
    if unknown:
        name = unknown[0].encode("ascii", "backslashreplace").decode()
        raise _fault(number, f"has {prefix}{name}, which no rule knows; known are {', '.join(sorted(known))}")


def _fault(number: int, says: str) -> ScriptError:
    return ScriptError(f"Rule {number} of the script: {says}.")
