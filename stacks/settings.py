"""Every setting of a deployment, as one typed object read from the CDK context; a wrong one is refused in a sentence.

`cdk deploy --all -c alert_email=… -c max_paid_attempts=2`, or under `context` in `cdk.json`. Times are seconds,
sizes bytes, memory MiB. What a function gets of it is in `stacks/environment.py`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from stacks.contradictions import SettingRefusedError, refuse_contradictions
from stacks.regions import REGION_VARIABLES, REGIONS_WITH_THE_BUS
from stacks.rules import Rule, flag, limits, names, one_of, seconds, text, tick, whole, whole_of

__all__ = ["SettingRefusedError", "Settings", "read_settings"]

LOG_RETENTION_DAYS = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3653)
"""What CloudWatch Logs accepts (PutRetentionPolicy)."""

LONGEST_VISIBILITY_S = 43_200
"""SQS: a message is hidden for at most 12 hours."""

MOST_MICROUSD = 1_000_000_000_000
"""A million dollars: above that a ceiling is a slip of the finger."""


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

    # Of the worst case, in micro-dollars; 0: no ceiling. What is over one waits for an operator's approval.
    max_upload_microusd: int = _setting(10_000_000, whole(0, MOST_MICROUSD, "micro-dollars"))
    max_day_microusd: int = _setting(50_000_000, whole(0, MOST_MICROUSD, "micro-dollars"))

    quiet_s: int = _setting(300, whole(1, 86_400, "seconds"))
    stall_s: int = _setting(3600, whole(1, 7 * 86_400, "seconds"))
    max_sweeps: int = _setting(3, whole(1, 100))
    object_sweep_s: int = _setting(900, whole(1, 86_400, "seconds"))
    object_grace_s: int = _setting(300, whole(1, 86_400, "seconds"))

    refunds: bool = _setting(True, flag())  # noqa: FBT003
    refund_limits: str = _setting("", limits())
    stripe_secret_name: str = _setting(
        "prospect-uploader/stripe", text(r"[A-Za-z0-9/_+=.@-]{1,256}", "the name of a secret in Secrets Manager")
    )
    stripe_api_base: str = _setting("", text(r"https?://\S+|", "an http or https address"))
    stripe_keys_retention_s: int = _setting(86_400, whole(0, 30 * 86_400, "seconds"))
    provider_deadline_s: float = _setting(20.0, seconds(1, 300))
    # The bus waits at most 30 s for a function, and a gateway's caller hardly longer.
    refund_timeout_s: int = _setting(28, whole(1, 29, "seconds"))
    refund_queue_timeout_s: int = _setting(120, whole(1, 900, "seconds"))
    refund_batch_size: int = _setting(5, whole(1, 10))
    refund_settle_s: int = _setting(900, whole(0, 86_400, "seconds"))
    refund_abandoned_s: int = _setting(900, whole(0, 86_400, "seconds"))
    refund_unknown_alarm_s: int = _setting(3600, whole(60, 7 * 86_400, "seconds"))
    reconcile_s: int = _setting(300, tick())
    reconcile_timeout_s: int = _setting(300, whole(1, 900, "seconds"))

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
    context: Callable[[str], object],
    environ: Mapping[str, str],
    given_names: Iterable[str] = (),
    setting_names: Iterable[str] = (),
) -> Settings:
    """The settings of this synth.

    `context` looks one name up (None: not given); `given_names` are all names in the context, to catch a misspelt one;
    `setting_names` are names that can only have been meant as settings. Raises SettingRefusedError.
    """
    _refuse_misspelt(given_names)
    _refuse_unknown(setting_names)
    values = {name: _read(name, given) for name in RULES if (given := context(name)) is not None}
    values.setdefault("region", _region_of(environ))
    values.setdefault("account", environ.get("CDK_DEFAULT_ACCOUNT", ""))
    settings = Settings(**values)
    refuse_contradictions(settings)
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


def _refuse_unknown(names_given: Iterable[str]) -> None:
    for given in names_given:
        if given not in RULES:
            raise SettingRefusedError(f"setting {given}: there is no such setting; stacks/settings.py has all of them.")
