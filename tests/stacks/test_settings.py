"""A wrong setting fails the synth with one sentence: its name, what was given, what is allowed."""

from __future__ import annotations

import pytest

from functions.classify.prices import PRICES
from functions.intake.header import ALIASES
from stacks.contradictions import PRICED_MODELS, ROW_FIELDS, SettingRefusedError
from stacks.regions import REGIONS_WITH_THE_BUS
from stacks.settings import RULES, read_settings
from tests.stacks.templates import settings_of

WRONG = [
    ("name", "7up", "1 to 40 letters"),
    ("name", "x" * 41, "1 to 40 letters"),
    ("account", "1234", "12 digits"),
    ("alert_email", "nobody", "one e-mail address"),
    ("alert_email", "a@b.example, c@d.example", "one e-mail address"),
    ("ephemeral", "yes", "true or false"),
    ("ephemeral", 1, "true or false"),
    ("bundle", "docker", "one of auto, full, code"),
    ("model_provider", "openai", "one of anthropic, bedrock"),
    ("model_id", "claude haiku", "the id of a model"),
    ("anthropic_secret_name", "my secret", "the name of a secret"),
    ("anthropic_base_url", "localhost:80", "an http or https address"),
    ("max_tokens", "64.5", "a whole number from 16 to 4096"),
    ("max_tokens", True, "a whole number from 16 to 4096"),
    ("rendered_columns", "", "column names"),
    ("rendered_columns", "email,,name", "column names"),
    ("rendered_columns", "email,E-Mail,EMAIL", "each once"),
    ("rendered_columns", [1], "column names"),
    ("max_paid_attempts", "0", "a whole number from 1 to 5"),
    ("max_paid_attempts", "two", "a whole number from 1 to 5"),
    ("max_paid_attempts", [1], "a whole number from 1 to 5"),
    ("model_deadline_s", "-1", "a number of seconds from 1 to 300"),
    ("model_deadline_s", "NaN", "a number of seconds from 1 to 300"),
    ("requests_in_flight", 1, "a whole number from 2 to 10000"),
    ("max_receives", 1001, "a whole number from 1 to 1000"),
    ("backoff_max_s", 43201, "a number of seconds from 0 to 43200"),
    ("tick_s", 90, "a multiple of 60 seconds"),
    ("tick_s", 0, "a multiple of 60 seconds"),
    ("intake_timeout_s", 901, "a whole number from 1 to 900 seconds"),
    ("classify_memory_mb", 64, "a whole number from 128 to 10240"),
    ("max_record_bytes", 131_073, "a whole number from 1 to 131072 bytes"),
    ("log_retention_days", 31, "one of 1, 3, 5, 7, 14, 30"),
    ("max_upload_microusd", -1, "a whole number from 0 to 1000000000000 micro-dollars"),
    ("max_day_microusd", "12.50", "a whole number from 0 to 1000000000000 micro-dollars"),
    ("quiet_s", 0, "a whole number from 1 to 86400 seconds"),
    ("stall_s", 604_801, "a whole number from 1 to 604800 seconds"),
    ("max_sweeps", 0, "a whole number from 1 to 100"),
    ("object_sweep_s", 0, "a whole number from 1 to 86400 seconds"),
    ("object_grace_s", "soon", "a whole number from 1 to 86400 seconds"),
    ("bus_retention_days", 366, "a whole number from 1 to 365"),
    ("refunds", "perhaps", "true or false"),
    ("refund_limits", "EUR", "amounts in minor units by currency"),
    ("refund_limits", "EUR=12.50", "amounts in minor units by currency"),
    ("refund_limits", "EUR=-1", "amounts in minor units by currency"),
    ("refund_limits", "EUR=1,EUR=2", "each currency once"),
    ("refund_limits", 5_000, "amounts in minor units by currency"),
    ("stripe_api_base", "localhost", "an http or https address"),
    ("refund_timeout_s", 30, "a whole number from 1 to 29 seconds"),
    ("refund_batch_size", 11, "a whole number from 1 to 10"),
]

WRONG_TOGETHER = [
    ({"classify_timeout_s": 22}, "setting classify_timeout_s: 22 was given", "more than model_deadline_s + 2 = 22"),
    ({"refund_timeout_s": 22}, "setting refund_timeout_s: 22 was given", "more than provider_deadline_s + 2 = 22"),
    (
        {"provider_deadline_s": 26, "refund_timeout_s": 29, "refund_queue_timeout_s": 28},
        "setting refund_queue_timeout_s: 28 was given",
        "more than provider_deadline_s + 2 = 28",
    ),
    (
        {"reconcile_timeout_s": 42},
        "setting reconcile_timeout_s: 42 was given",
        "more than 2 x provider_deadline_s + 2 = 42",
    ),
    ({"intake_timeout_s": 20}, "setting stop_before_timeout_s: 20 was given", "less than intake_timeout_s = 20"),
    ({"max_field_bytes": 70_000}, "setting max_field_bytes: 70000 was given", "at most max_record_bytes = 65536"),
    ({"max_file_bytes": 9_999}, "setting max_record_bytes: 65536 was given", "at most max_file_bytes = 9999"),
    ({"backoff_base_s": 901}, "setting backoff_base_s: 901 was given", "at most backoff_max_s = 900"),
    ({"quiet_s": 59}, "setting quiet_s: 59 was given", "at least tick_s = 60"),
    ({"stall_s": 200}, "setting stall_s: 200 was given", "at least quiet_s = 300"),
    ({"stall_s": 899}, "setting stall_s: 899 was given", "at least backoff_max_s = 900"),
    ({"object_sweep_s": 59}, "setting object_sweep_s: 59 was given", "at least tick_s = 60"),
    ({"model_provider": "bedrock"}, "setting model_id: 'claude-haiku-5-5' was given", "anthropic."),
    ({"model_id": "claude-sonnet-9"}, "setting model_id: 'claude-sonnet-9' was given", "one of claude-haiku-5-5"),
    (
        {"model_provider": "bedrock", "model_id": "eu.anthropic.claude-haiku-5-5-v1:0"},
        "setting model_id: 'eu.anthropic.claude-haiku-5-5-v1:0' was given",
        "one of eu.anthropic.claude-haiku-5-5",
    ),
    ({"rendered_columns": "emial,name"}, "setting rendered_columns: 'emial' was given", "did you mean 'email'"),
    ({"model_id": "anthropic.claude-haiku-5-5"}, "setting model_id: 'anthropic.claude-haiku-5-5' was given", "claude-"),
]


@pytest.mark.parametrize(("name", "given", "allowed"), WRONG)
def test_a_wrong_setting_is_refused_in_one_sentence(name: str, given: object, allowed: str) -> None:
    with pytest.raises(SettingRefusedError) as refused:
        settings_of(**{name: given})
    sentence = str(refused.value)
    assert sentence.startswith(f"setting {name}: {given!r} was given; it must be ")
    assert allowed in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(("context", "start", "allowed"), WRONG_TOGETHER)
def test_settings_that_contradict_each_other_are_refused(context: dict[str, object], start: str, allowed: str) -> None:
    with pytest.raises(SettingRefusedError) as refused:
        settings_of(**context)
    assert str(refused.value).startswith(start)
    assert allowed in str(refused.value)
    assert str(refused.value).endswith(".")


@pytest.mark.parametrize("region", ["eu-west-2", "us-west-1", "ca-central-1", "sa-east-1", "eu-west-3", "nowhere"])
def test_a_region_without_the_bus_is_refused_by_name_wherever_it_comes_from(region: str) -> None:
    for context, environ in (
        ({"region": region}, {}),
        ({}, {"CDK_DEFAULT_REGION": region}),
        ({}, {"AWS_REGION": region}),
    ):
        with pytest.raises(SettingRefusedError, match=f"'{region}' was given, but the EventBridge Custom Event Bus"):
            read_settings(context.get, environ)


@pytest.mark.parametrize("region", REGIONS_WITH_THE_BUS)
def test_every_region_with_the_bus_is_accepted(region: str) -> None:
    assert settings_of(region=region).region == region


def test_the_setting_goes_before_the_environment_and_the_cdks_variable_before_the_general_one() -> None:
    environ = {"CDK_DEFAULT_REGION": "eu-west-1", "AWS_REGION": "us-east-2"}
    assert read_settings({"region": "us-west-2"}.get, environ).region == "us-west-2"
    assert read_settings({}.get, environ).region == "eu-west-1"
    assert read_settings({}.get, {"AWS_REGION": "us-east-2"}).region == "us-east-2"


def test_the_models_that_are_accepted_are_those_that_can_be_priced() -> None:
    assert set(PRICED_MODELS) == set(PRICES)


def test_the_rows_own_columns_and_any_other_may_be_rendered() -> None:
    assert settings_of(rendered_columns="email,industry").rendered_columns == ("email", "industry")
    assert set(ROW_FIELDS) == set(ALIASES)


def test_a_row_that_is_not_billed_is_retried_for_over_half_an_hour() -> None:
    settings = settings_of()
    waits = [settings.backoff_base_s * 2**n for n in range(settings.max_receives - 1)]
    assert sum(min(wait, settings.backoff_max_s) / 2 for wait in waits) > 1_800


def test_without_any_region_the_stacks_fit_any() -> None:
    assert read_settings({}.get, {}).region == ""


def test_a_misspelt_setting_is_named_with_the_one_that_was_meant() -> None:
    with pytest.raises(
        SettingRefusedError, match="setting alert_emial: there is no such setting; did you mean alert_email"
    ):
        read_settings({}.get, {}, ["alert_emial"])


def test_a_name_that_can_only_be_a_setting_is_refused_though_it_is_like_none() -> None:
    with pytest.raises(
        SettingRefusedError, match=r"setting my-team: there is no such setting; stacks/settings\.py has"
    ):
        read_settings({}.get, {}, ["my-team"], ["my-team"])


def test_the_cdks_own_context_is_no_misspelt_setting() -> None:
    names = ["@aws-cdk/core:bundle", "aws:cdk:names", "availability-zones:account=1:region=eu-west-1", "my-team"]
    assert read_settings({}.get, {}, names) == settings_of()


@pytest.mark.parametrize(
    ("name", "spellings"),
    [
        ("max_paid_attempts", [2, "2", 2.0]),
        ("model_deadline_s", [12.5, "12.5"]),
        ("ephemeral", [True, "true"]),
        ("rendered_columns", ["Email, Company", ["email", "company"], "email,COMPANY"]),
        ("tick_s", [1, "1"]),
        ("alert_email", ["ops@example.com"]),
    ],
)
def test_a_setting_means_the_same_as_text_and_as_json(name: str, spellings: list[object]) -> None:
    values = {getattr(settings_of(**{name: given}), name) for given in spellings}
    assert len(values) == 1


def test_every_setting_has_a_rule_that_accepts_its_default() -> None:
    defaults = settings_of()
    for name, rule in RULES.items():
        if name not in {"region", "account"}:
            assert rule.read(getattr(defaults, name)) == getattr(defaults, name)


@pytest.mark.parametrize("in_flight", [2, 3, 5, 19, 20, 21, 100, 10_000])
def test_batches_times_concurrency_stay_within_requests_in_flight_and_lambdas_limits(in_flight: int) -> None:
    settings = settings_of(requests_in_flight=in_flight)
    assert 1 <= settings.batch_size <= 10
    assert 2 <= settings.concurrency <= 1000
    assert in_flight - settings.concurrency < settings.batch_size * settings.concurrency <= in_flight
