"""What a function is told by its environment: typed objects, read once, refused with a sentence when wrong.

Every field is one environment variable of the same name in upper case; `stacks/` sets them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError


class SettingsError(Exception):
    """The environment does not describe a runnable function; the message names each variable and what is wrong."""


def _split(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_split)]


class Environment(BaseModel):
    """Base of every settings object: unset and empty variables take the field's default, or are named as missing."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Self:
        source = os.environ if environ is None else environ
        values = {name: source[name.upper()] for name in cls.model_fields if source.get(name.upper(), "") != ""}
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            faults = "; ".join(f"{str(e['loc'][0]).upper()}: {e['msg']}" for e in error.errors())
            raise SettingsError(f"wrong settings for this function: {faults}") from None


class Limits(Environment):
    """What a CSV may be at most (design: the CSV contract). Bytes are counted in UTF-8."""

    max_records: int = Field(1_000_000, ge=1)
    max_file_bytes: int = Field(1 << 30, ge=1)
    max_field_bytes: int = Field(32 * 1024, ge=1)
    # A record's event must fit into one PutEvents call of 1 MB, where JSON may spell a character with six bytes.
    max_record_bytes: int = Field(64 * 1024, ge=1, le=128 * 1024)


class TaskSettings(Environment):
    """What is asked of which model; part of every key through the prompt version."""

    model_id: str = "claude-haiku-5-5"
    max_tokens: int = Field(64, ge=16)
    rendered_columns: Names = ("email", "name", "company", "title", "notes")
    max_paid_attempts: int = Field(1, ge=1, le=5)


class IntakeSettings(Limits, TaskSettings):
    """The intake worker. The two ceilings bound worst cases, in micro-dollars, of one upload and of those that begin on
    one UTC day; 0: no ceiling."""

    uploads_bucket: str
    prospects_table: str
    idempotency_table: str
    event_bus_arn: str
    alerts_topic_arn: str
    max_upload_microusd: int = Field(10_000_000, ge=0)
    max_day_microusd: int = Field(50_000_000, ge=0)
    max_intake_attempts: int = Field(3, ge=1)
    upload_retention_days: int = Field(400, ge=1)
    stop_before_timeout_s: float = Field(20.0, ge=0)


class ClassifySettings(Environment):
    """The classify worker. Seconds are wall-clock seconds."""

    prospects_table: str
    idempotency_table: str
    classify_queue_url: str
    classify_dlq_url: str
    model_provider: Literal["anthropic", "bedrock"] = "anthropic"
    anthropic_secret_id: str = ""
    model_deadline_s: float = Field(20.0, gt=0)
    max_paid_attempts: int = Field(1, ge=1, le=5)
    max_receives: int = Field(12, ge=1)
    max_hops: int = Field(4, ge=1)
    backoff_base_s: float = Field(5.0, ge=0)
    backoff_max_s: float = Field(900.0, ge=0)
    outcome_retention_days: int = Field(400, ge=1)
    upload_retention_days: int = Field(400, ge=1)
    lease_grace_s: float = Field(5.0, ge=0)


class FinishSettings(Environment):
    """The finish worker. `tick_s` is the period of its schedule; nothing is counted more often.

    Seconds: an upload is swept once the work queue has been empty and its rows still for `quiet_s`, or they alone for
    `stall_s`; object versions are compared every `object_sweep_s`, younger ones than `object_grace_s` left alone.
    """

    uploads_bucket: str
    prospects_table: str
    idempotency_table: str
    event_bus_arn: str
    alerts_topic_arn: str
    intake_function_name: str
    classify_queue_url: str
    tick_s: float = Field(60.0, gt=0)
    quiet_s: float = Field(300.0, gt=0)
    stall_s: float = Field(3600.0, gt=0)
    max_sweeps: int = Field(3, ge=1)
    object_sweep_s: float = Field(900.0, gt=0)
    object_grace_s: float = Field(300.0, ge=0)
    intake_timeout_s: float = Field(900.0, gt=0)
    max_paid_attempts: int = Field(1, ge=1, le=5)
    outcome_retention_days: int = Field(400, ge=1)
    upload_retention_days: int = Field(400, ge=1)
