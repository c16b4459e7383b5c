"""Settings that are each allowed but contradict each other: refused in one sentence that names both."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stacks.settings import Settings


PRICED_MODELS = ("claude-haiku-5-5",)
"""Models that intake can price; a test holds it to the price table. Bedrock puts `anthropic.` before the same id."""
ROW_FIELDS = ("email", "name", "first name", "last name", "company", "title", "notes")
"""Columns that the reader knows by several spellings."""


class SettingRefusedError(Exception):
    """One sentence: the setting, what was given, what is allowed."""


def refuse_contradictions(settings: Settings) -> None:
    """Raises SettingRefusedError for the first of them."""
    _refuse_short_timeouts(settings)
    _refuse_foreign_model(settings)
    _refuse_misspelt_columns(settings)
    for small, large, otherwise in _NEVER_ABOVE:
        if getattr(settings, small) > getattr(settings, large):
            raise _refusal(settings, small, f"at most {large} = {_plain(getattr(settings, large))}{otherwise}")
    for large, small, otherwise in _NEVER_BELOW:
        if getattr(settings, large) < getattr(settings, small):
            raise _refusal(settings, large, f"at least {small} = {_plain(getattr(settings, small))}{otherwise}")


_NEVER_ABOVE = (
    ("max_field_bytes", "max_record_bytes", ""),
    ("max_record_bytes", "max_file_bytes", ""),
    ("backoff_base_s", "backoff_max_s", ""),
)
"""(setting, the one it may not exceed, why)."""

_NEVER_BELOW = (
    # SQS counts its messages only approximately within a minute, which is also the shortest tick there is on AWS.
    ("quiet_s", "tick_s", ", or the sweep would take a queue for quiet that was seen empty once"),
    ("stall_s", "quiet_s", ", or an upload would count as stalled before its queue counts as quiet"),
    ("stall_s", "backoff_max_s", ", or rows that wait for their next try would be published again"),
    ("object_sweep_s", "tick_s", ": a tick is what compares the object versions"),
)
"""(setting, the one it may not fall below, why)."""


def _refusal(settings: Settings, name: str, allowed: str) -> SettingRefusedError:
    return SettingRefusedError(f"setting {name}: {_shown(getattr(settings, name))} was given; it must be {allowed}.")


def _shown(value: object) -> str:
    return _plain(value) if isinstance(value, float) else repr(value)


def _plain(number: float) -> str:
    return f"{number:.3f}".rstrip("0").rstrip(".")


def _refuse_short_timeouts(settings: Settings) -> None:
    if settings.model_deadline_s + 2 >= settings.classify_timeout_s:
        least = f"model_deadline_s + 2 = {settings.model_deadline_s + 2:g}"
        raise _refusal(settings, "classify_timeout_s", f"more than {least}, or no request could ever be sent")
    for timeout in ("refund_timeout_s", "refund_queue_timeout_s"):
        if settings.provider_deadline_s + 2 >= getattr(settings, timeout):
            least = f"provider_deadline_s + 2 = {settings.provider_deadline_s + 2:g}"
            raise _refusal(settings, timeout, f"more than {least}, or no refund could ever be sent")
    # A look and an attempt.
    if 2 * settings.provider_deadline_s + 2 >= settings.reconcile_timeout_s:
        least = f"2 x provider_deadline_s + 2 = {2 * settings.provider_deadline_s + 2:g}"
        raise _refusal(settings, "reconcile_timeout_s", f"more than {least}, or no open refund could be looked at")
    if settings.stop_before_timeout_s >= settings.intake_timeout_s:
        most = f"intake_timeout_s = {settings.intake_timeout_s}"
        raise _refusal(settings, "stop_before_timeout_s", f"less than {most}, or intake would stop before it starts")


def _refuse_foreign_model(settings: Settings) -> None:
    before, _, name = settings.model_id.rpartition("anthropic.")
    on_bedrock = name != settings.model_id
    if (settings.model_provider == "bedrock") != on_bedrock:
        wanted = "anthropic.… or <region group>.anthropic.…" if settings.model_provider == "bedrock" else "claude-…"
        raise _refusal(settings, "model_id", f"of the form {wanted} where model_provider is {settings.model_provider}")
    if name not in PRICED_MODELS:
        allowed = ", ".join(f"{before}anthropic.{model}" if on_bedrock else model for model in PRICED_MODELS)
        raise _refusal(
            settings,
            "model_id",
            f"one of {allowed}, or be added to functions/classify/prices.py and here, since a file is priced first",
        )


def _refuse_misspelt_columns(settings: Settings) -> None:
    # An unknown column is allowed, but one letter off it would show the model less and change every key.
    for column in settings.rendered_columns:
        near = difflib.get_close_matches(column, ROW_FIELDS, n=1, cutoff=0.75)
        if near and column not in ROW_FIELDS:
            raise SettingRefusedError(
                f"setting rendered_columns: {column!r} was given; did you mean {near[0]!r}? A column of that very name "
                "cannot be shown to the model."
            )
