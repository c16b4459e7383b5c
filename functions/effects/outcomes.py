"""What running an effect came to: the value the guarded function returns, and what is stored of it."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

Kind = Literal["succeeded", "failed", "released", "unknown"]


def _as_stored(value: Any) -> Any:
    """What DynamoDB can keep: a paid answer must not fail to be saved over a float or half a character."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return {_as_stored(name): _as_stored(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_as_stored(inner) for inner in value]
    return value


Stored = Annotated[dict[str, Any], BeforeValidator(_as_stored)]


class Outcome(BaseModel):
    """The result of one attempt at an effect.

    `succeeded` and `failed` are final; `released` means certainly unbilled and worth another try; `unknown` means it
    may have been billed and no answer was stored. `result` is small and JSON; `audit` holds what the answer came from
    (model, request id, usage). `retry_after_s` is in whole seconds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    kind: Kind
    reason: str = ""
    paid: bool = False
    retryable: bool = False
    retry_after_s: int | None = Field(default=None, exclude_if=lambda v: v is None)
    result: Stored = Field(default_factory=dict)
    audit: Stored = Field(default_factory=dict)

    @model_validator(mode="after")
    def _a_failure_says_why(self) -> Self:
        if self.kind != "succeeded" and not self.reason:
            raise ValueError(f"an outcome that is {self.kind} needs a reason code")
        if self.kind == "released" and self.paid:
            raise ValueError("released means certainly unbilled")
        if self.kind == "unknown" and not self.paid:
            raise ValueError("unknown means that it may have been billed")
        return self

    @classmethod
    def succeeded(cls, result: dict[str, Any], **audit: Any) -> Self:
        return cls(kind="succeeded", paid=True, result=result, audit=audit)

    @classmethod
    def failed(cls, reason: str, *, paid: bool, retryable: bool = False, **audit: Any) -> Self:
        return cls(kind="failed", reason=reason, paid=paid, retryable=retryable, audit=audit)

    @classmethod
    def released(cls, reason: str, *, retry_after_s: float | None = None, **audit: Any) -> Self:
        wait = None if retry_after_s is None else math.ceil(retry_after_s)
        return cls(kind="released", reason=reason, retry_after_s=wait, audit=audit)

    @classmethod
    def unknown(cls, reason: str, **audit: Any) -> Self:
        return cls(kind="unknown", reason=reason, paid=True, audit=audit)
