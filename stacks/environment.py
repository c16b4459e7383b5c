"""The environment variables of each function: the upper-case names of the fields in `functions/settings.py`.

A test holds the two together, so that a function never runs on a default nobody chose.
"""

from __future__ import annotations

from dataclasses import dataclass

from stacks.settings import Settings


@dataclass(frozen=True)
class Names:
    """Names and ARNs of what the functions use."""

    uploads_bucket: str
    prospects_table: str
    idempotency_table: str
    event_bus_arn: str
    alerts_topic_arn: str


def intake_environment(settings: Settings, names: Names) -> dict[str, str]:
    return {
        **_everything(names),
        **_same(settings, "max_records", "max_file_bytes", "max_field_bytes", "max_record_bytes"),
        **_same(settings, "model_id", "max_tokens", "max_paid_attempts", "max_intake_attempts"),
        **_same(settings, "max_upload_microusd", "max_day_microusd"),
        **_same(settings, "stop_before_timeout_s", "upload_retention_days"),
        "RENDERED_COLUMNS": ",".join(settings.rendered_columns),
    }


def classify_environment(settings: Settings, names: Names) -> dict[str, str]:
    """CLASSIFY_QUEUE_URL and CLASSIFY_DLQ_URL come from the worker's delivery."""
    on_anthropic = settings.model_provider == "anthropic"
    base_url = {"ANTHROPIC_BASE_URL": settings.anthropic_base_url} if settings.anthropic_base_url else {}
    return {
        "PROSPECTS_TABLE": names.prospects_table,
        "IDEMPOTENCY_TABLE": names.idempotency_table,
        "ANTHROPIC_SECRET_ID": settings.anthropic_secret_name if on_anthropic else "",
        **_same(settings, "model_provider", "model_deadline_s", "max_paid_attempts", "max_receives", "max_hops"),
        **_same(settings, "backoff_base_s", "backoff_max_s", "lease_grace_s"),
        **_same(settings, "outcome_retention_days", "upload_retention_days"),
        **base_url,
    }


def finish_environment(
    settings: Settings, names: Names, *, intake_function_name: str, classify_queue_url: str
) -> dict[str, str]:
    return {
        **_everything(names),
        **_same(settings, "tick_s", "quiet_s", "stall_s", "max_sweeps", "object_sweep_s", "object_grace_s"),
        **_same(settings, "max_paid_attempts", "intake_timeout_s"),
        **_same(settings, "outcome_retention_days", "upload_retention_days"),
        "INTAKE_FUNCTION_NAME": intake_function_name,
        "CLASSIFY_QUEUE_URL": classify_queue_url,
    }


def _everything(names: Names) -> dict[str, str]:
    return {name.upper(): value for name, value in vars(names).items()}


def _same(settings: Settings, *fields: str) -> dict[str, str]:
    return {field.upper(): f"{getattr(settings, field)}" for field in fields}
