"""The script of the stand-in: how long it keeps idempotency keys, and what goes wrong.

`{"keys_retention_s": seconds, "rules": […]}`; both may be left out. 0 seconds: it knows no keys at all. A rule is
`{"when": {"request_id": text} | {"request": n}, "times": k, "then": …}`; the first that matches decides; without one
the refund is made and answered. `request_id` is the metadata's, `request` counts what is asked for, from 1. `then` is
`{"drop": "before_applying" | "after_applying"}` (the connection is reset instead of an answer),
`{"delay_s": seconds, "apply": "before" | "after"}` (answered late, and made before or after that time),
`{"status": n, "type": …, "code": …, "message": …, "headers": {…}}` or `{"status": n, "body": text}` (nothing is made),
or `{"standing": "pending" | "succeeded" | "failed" | …}` (the refund's status).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from local.claude.script import decoded
from local.errors import ScriptError

DAY_S = 86_400.0


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class When(_Part):
    """Exactly one of the two."""

    request_id: str | None = None
    request: int | None = Field(None, ge=1)

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if (self.request_id is None) == (self.request is None):
            raise ValueError("takes either request_id or request")
        return self


class Drop(_Part):
    drop: Literal["before_applying", "after_applying"]


class Late(_Part):
    delay_s: Annotated[float, Field(ge=0, le=3_600, strict=False)]
    apply: Literal["before", "after"] = "before"


class Refuse(_Part):
    status: int = Field(ge=200, le=599)
    type: str = "invalid_request_error"
    code: str | None = None
    message: str = "The script says so."
    headers: dict[str, str] = Field(default_factory=dict)
    body: str | None = None


class Standing(_Part):
    standing: str


Then = Drop | Late | Refuse | Standing


class Rule(_Part):
    when: When
    times: int | None = Field(None, ge=1)
    then: Then


class Script(_Part):
    keys_retention_s: Annotated[float, Field(ge=0, strict=False)] = DAY_S
    rules: tuple[Rule, ...] = Field(default=(), strict=False)


def parse_script(raw: Any) -> Script:
    """Raises `ScriptError` with the first fault and where it is."""
    try:
        return Script.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the script"
        raise ScriptError(f"The payments script is wrong at {where}: {first['msg']}.") from None


def read_script(path: Path) -> Any:
    """The JSON of a script file, checked. Raises `ScriptError`."""
    raw = decoded(path)
    parse_script(raw)
    return raw
