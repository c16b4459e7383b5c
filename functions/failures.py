"""An exception told without its text, which a library or a service may have made of a row or of a file's name."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")


class HandlerFailedError(Exception):
    """Something failed in a handler; its text says what and where: `ClientError (Throttling) at intake/source.py:1`."""


def describe(error: BaseException) -> dict[str, str]:
    """Its class, AWS's code, where in our code it was raised, and the class of its cause."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "functions" in frame.filename.replace("\\", "/").split("/")]
    cause = error.__cause__
    description = {"error": type(error).__name__}
    if ours:
        description["at"] = f"{ours[-1].filename.rpartition('functions')[2].lstrip('/')}:{ours[-1].lineno}"
    if code := _aws_code(error) or _aws_code(cause):
        description["code"] = code
    if cause is not None:
        description["cause"] = type(cause).__name__
    return description


def without_texts(handler: Callable[_P, _R]) -> Callable[_P, _R]:
    """For an entry point: Lambda logs the text of what leaves it, and keeps it in the failed event's record.

    Our own exceptions leave as they are: their texts hold ids, codes and numbers only.
    """

    @functools.wraps(handler)
    def telling(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return handler(*args, **kwargs)
        except Exception as error:
            if type(error).__module__.partition(".")[0] == __name__.partition(".")[0]:
                raise
            failed = HandlerFailedError(_sentence(describe(error)))
        raise failed from None

    return telling


def _sentence(described: dict[str, str]) -> str:
    code = f" ({described['code']})" if "code" in described else ""
    cause = f", from {described['cause']}" if "cause" in described else ""
    return f"{described['error']}{code} at {described.get('at', 'no line of ours')}{cause}"


def _aws_code(error: BaseException | None) -> str:
    response: Any = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""
