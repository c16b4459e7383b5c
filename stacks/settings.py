"""Every setting of a deployment, as one typed object read from the CDK context; a wrong one is refused in a sentence.

`cdk deploy --all -c alert_email=… -c max_paid_attempts=2`, or under `context` in `cdk.json`. Times are seconds,
sizes bytes, memory MiB. What a function gets of it is in `stacks/environment.py`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from stacks.regions import REGION_VARIABLES, REGIONS_WITH_THE_BUS
from stacks.rules import Rule, flag, names, one_of, seconds, text, tick, whole, whole_of

LOG_RETENTION_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3653)
"""What CloudWatch Logs accepts (PutRetentionPolicy)."""

LONGEST_VISIBILITY_S = 43_200
"""SQS: a message is hidden for at most 12 hours."""


PRICED_MODELS = ("claude-haiku-5-5",)
"""Models that intake can price; a test holds it to the price table. Bedrock puts `anthropic.` before the same id."""
ROW_FIELDS = ("email", "name", "first name", "last name", "company", "title", "notes")
"""Columns that the reader knows by several spellings."""


class SettingRefusedError(Exception):
    """One sentence: the setting, what was given, what is allowed."""


def _setting(default: Any, rule: Rule) -> Any:
    return field(default=default, metadata={"rule": rule})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Read with `read_settings`; an instance has passed every rule, each alone and together."""

    name: str = _setting(
        "ProspectUploader", text(r"[A-Za-z][A-Za-z0-9-]{0,39}", "1 to 40 letters, digits and hyphens, a letter first")
    )
    region: str = _setting("", one_of(*REGIONS_WITH_THE_BUS))
    account: str = _setting("", text(r"[0-9]{12}", "the 12 digits of an AWS account"))
    alert_email: str = _setting("", text(r"[^@\s,]+@[^@\s,]+\.[^@\s,]+|", "one e-mail address"))
    ephemeral: bool = _setting(False, flag())  # noqa: FBT003
    bundle: str = _setting("auto", one_of("auto", "full", "code"))

    model_provider: str = _setting("anthropic", one_of("anthropic", "bedrock"))
    model_id: str = _setting("claude-haiku-5-5", text(r"[A-Za-z0-9.:_-]{1,128}", "the id of a model"))
    anthropic_secret_name: str = _setting(
        "prospect-uploader/anthropic", text(r"[A-Za-z0-9/_+=.@-]{1,256}", "the name of a secret in Secrets Manager")
    )
    anthropic_base_url: str = _setting("", text(r"https?://\S+|", "an http or https address"))
    max_tokens: int = _setting(64, whole(16, 4096))
    rendered_columns: tuple[str, ...] = _setting(("email", "name", "company", "title", "notes"), names())
    max_paid_attempts: int = _setting(1, whole(1, 5))
    model_deadline_s: float = _setting(20.0, seconds(1, 300))

    requests_in_flight: int = _setting(20, whole(2, 10_000))
    max_receives: int = _setting(12, whole(1, 1000))
    max_hops: int = _setting(4, whole(1, 64))
    max_intake_attempts: int = _setting(3, whole(1, 100))
    backoff_base_s: float = _setting(5.0, seconds(0, 3600))
    backoff_max_s: float = _setting(900.0, seconds(0, LONGEST_VISIBILITY_S))
    lease_grace_s: float = _setting(5.0, seconds(0, 300))
    stop_before_timeout_s: float = _setting(20.0, seconds(0, 600))
    tick_s: int = _setting(60, tick())

    intake_timeout_s: int = _setting(900, whole(1, 900, "seconds"))
    classify_timeout_s: int = _setting(60, whole(1, 900, "seconds"))
    finish_timeout_s: int = _setting(900, whole(1, 900, "seconds"))
    intake_memory_mb: int = _setting(1769, whole(128, 10_240))
    classify_memory_mb: int = _setting(1024, whole(128, 10_240))
    finish_memory_mb: int = _setting(1024, whole(128, 10_240))

    max_records: int = _setting(1_000_000, whole(1, 2_000_000))
    max_file_bytes: int = _setting(1 << 30, whole(1, 5 << 30, "bytes"))
    max_field_bytes: int = _setting(32 * 1024, whole(1, 128 * 1024, "bytes"))
    # A record's event must fit into one PutEvents call of 1 MB, where JSON may spell a character with six bytes.
    max_record_bytes: int = _setting(64 * 1024, whole(1, 128 * 1024, "bytes"))

    upload_retention_days: int = _setting(400, whole(1, 3650))
    outcome_retention_days: int = _setting(400, whole(1, 3650))
    file_retention_days: int = _setting(400, whole(1, 3650))
    replaced_file_retention_days: int = _setting(90, whole(1, 3650))
    bus_retention_days: int = _setting(7, whole(1, 365))
    log_retention_days: int = _setting(30, whole_of(LOG_RETENTION_DAYS, "days"))

    @property
    def batch_size(self) -> int:
        """Rows an invocation of classify takes. `batch_size * concurrency` never exceeds `requests_in_flight`."""
        return min(10, self.requests_in_flight // 2)

    @property
    def concurrency(self) -> int:
        """Invocations of classify at once, through the event source mapping (MaximumConcurrency: 2 to 1000)."""
        return self.requests_in_flight // self.batch_size


RULES: Mapping[str, Rule] = {each.name: each.metadata["rule"] for each in fields(Settings)}


def read_settings(
    context: Callable[[str], object], environ: Mapping[str, str], given_names: Iterable[str] = ()
) -> Settings:
    """The settings of this synth.

    `context` looks one name up (None: not given); `given_names` are all names in the context, to catch a misspelt one.
    Raises SettingRefusedError.
    """
    _refuse_misspelt(given_names)
    values = {name: _read(name, given) for name in RULES if (given := context(name)) is not None}
    values.setdefault("region", _region_of(environ))
    values.setdefault("account", environ.get("CDK_DEFAULT_ACCOUNT", ""))
    settings = Settings(**values)
    for refuse in (
        _refuse_short_timeouts,
        _refuse_crossed_sizes,
        _refuse_foreign_model,
        _refuse_misspelt_columns,
        _refuse_backoff,
    ):
        refuse(settings)
    return settings


def _read(name: str, given: object) -> Any:
    try:
        return RULES[name].read(given)
    except ValueError:
        raise _refusal(name, given) from None


def _refusal(name: str, given: object) -> SettingRefusedError:
    if name == "region":
        return _region_refusal("setting region", str(given))
    return SettingRefusedError(f"setting {name}: {given!r} was given; it must be {RULES[name].allowed}.")


def _region_of(environ: Mapping[str, str]) -> str:
    """The Region of the environment; empty where it names none: the templates then fit any Region."""
    for variable in REGION_VARIABLES:
        region = environ.get(variable, "")
        if region and region not in REGIONS_WITH_THE_BUS:
            raise _region_refusal(variable, region)
        if region:
            return region
    return ""


def _region_refusal(source: str, region: str) -> SettingRefusedError:
    return SettingRefusedError(
        f"{source}: {region!r} was given, but the EventBridge Custom Event Bus is not offered there; "
        f"it must be one of {', '.join(REGIONS_WITH_THE_BUS)}."
    )


def _refuse_misspelt(given_names: Iterable[str]) -> None:
    for given in given_names:
        if given in RULES or ":" in given or given.startswith("@"):
            continue
        near = difflib.get_close_matches(given, RULES, n=1, cutoff=0.8)
        if near:
            raise SettingRefusedError(f"setting {given}: there is no such setting; did you mean {near[0]}?")


def _refuse_short_timeouts(settings: Settings) -> None:
    if settings.model_deadline_s + 2 >= settings.classify_timeout_s:
        raise SettingRefusedError(
            f"setting classify_timeout_s: {settings.classify_timeout_s} was given; it must be more than "
            f"model_deadline_s + 2 = {settings.model_deadline_s + 2:g}, or no request could ever be sent."
        )
    if settings.stop_before_timeout_s >= settings.intake_timeout_s:
        raise SettingRefusedError(
            f"setting stop_before_timeout_s: {settings.stop_before_timeout_s:g} was given; it must be less than "
            f"intake_timeout_s = {settings.intake_timeout_s}, or intake would stop before it starts."
        )


def _refuse_crossed_sizes(settings: Settings) -> None:
    for small, large in (("max_field_bytes", "max_record_bytes"), ("max_record_bytes", "max_file_bytes")):
        if getattr(settings, small) > getattr(settings, large):
            raise SettingRefusedError(
                f"setting {small}: {getattr(settings, small)} was given; it must be at most "
                f"{large} = {getattr(settings, large)}."
            )


def _refuse_foreign_model(settings: Settings) -> None:
    before, _, name = settings.model_id.rpartition("anthropic.")
    on_bedrock = name != settings.model_id
    if (settings.model_provider == "bedrock") != on_bedrock:
        wanted = "anthropic.… or <region group>.anthropic.…" if settings.model_provider == "bedrock" else "claude-…"
        raise SettingRefusedError(
            f"setting model_id: {settings.model_id!r} was given; with model_provider={settings.model_provider} "
            f"it must be of the form {wanted}"
        )
    if name not in PRICED_MODELS:
        allowed = ", ".join(f"{before}anthropic.{model}" if on_bedrock else model for model in PRICED_MODELS)
        raise SettingRefusedError(
            f"setting model_id: {settings.model_id!r} was given, but its price is not known and no file could be "
            f"priced; it must be one of {allowed}, or be added to functions/classify/prices.py and stacks/settings.py."
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


def _refuse_backoff(settings: Settings) -> None:
    if settings.backoff_base_s > settings.backoff_max_s:
        raise SettingRefusedError(
            f"setting backoff_base_s: {settings.backoff_base_s:g} was given; it must be at most "
            f"backoff_max_s = {settings.backoff_max_s:g}."
        )
