"""What the functions are told and run on."""

from __future__ import annotations

import pytest

from functions.refunds.adapters.settings import BusSettings, InboxSettings, PassSettings
from functions.refunds.settings import ApprovalSettings, ReconcileSettings, RefundSettings
from functions.settings import ClassifySettings, Environment, FinishSettings, IntakeSettings
from stacks.regions import REGIONS_WITH_THE_BUS
from tests.stacks.templates import Templates

SETTINGS: dict[str, tuple[type[Environment], ...]] = {
    "intake": (IntakeSettings,),
    "classify": (ClassifySettings,),
    "finish": (FinishSettings,),
    "refund-tool": (RefundSettings,),
    "refund-queue": (RefundSettings, InboxSettings),
    "refund-bus": (RefundSettings, BusSettings),
    "refund-reconcile": (ReconcileSettings, PassSettings),
    "refund-approve": (ApprovalSettings,),
}
HANDLERS = {
    **{name: f"functions.{name}.handler.handler" for name in ("intake", "classify", "finish")},
    **{
        f"refund-{name}": f"functions.refunds.handlers.{name}.handler"
        for name in ("tool", "queue", "bus", "reconcile", "approve")
    },
}
SET_WHERE_IT_IS_NOT_STRIPES_OWN = {"STRIPE_API_BASE"}
FOR_POWERTOOLS = {"POWERTOOLS_SERVICE_NAME", "POWERTOOLS_METRICS_NAMESPACE"}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_of_a_function_is_one_of_its_environment_variables(each_templates: Templates, name: str) -> None:
    variables = each_templates.worker_functions()[name].properties["Environment"]["Variables"]
    wanted = {field.upper() for each in SETTINGS[name] for field in each.model_fields}
    assert variables.keys() - FOR_POWERTOOLS == wanted - SET_WHERE_IT_IS_NOT_STRIPES_OWN


@pytest.mark.parametrize("name", SETTINGS)
def test_a_function_accepts_the_environment_it_is_given(each_templates: Templates, name: str) -> None:
    variables = each_templates.worker_functions()[name].properties["Environment"]["Variables"]
    known = {key: value if isinstance(value, str) else "known-after-deployment" for key, value in variables.items()}
    for kind in SETTINGS[name]:
        unset = {field for field in kind.model_fields if known.get(field.upper(), "") == ""}
        assert kind.from_env(known).model_fields_set == kind.model_fields.keys() - unset


def test_the_columns_and_the_model_reach_intake_as_they_were_set(templates: Templates) -> None:
    variables = templates.worker_functions()["intake"].properties["Environment"]["Variables"]
    found = IntakeSettings.from_env({k: v if isinstance(v, str) else "later" for k, v in variables.items()})
    assert found.rendered_columns == ("email", "name", "company", "title", "notes")
    assert found.model_id == "claude-haiku-5-5"


def test_functions_run_python_3_13_on_arm64_with_stated_timeout_memory_and_log_retention(
    each_templates: Templates,
) -> None:
    for function in each_templates.of_type("AWS::Lambda::Function"):
        properties = function.properties
        assert (properties["Runtime"], properties["Architectures"]) == ("python3.13", ["arm64"])
        assert properties["Timeout"] > 3
        assert properties["MemorySize"] > 128
        group = each_templates.named(properties["LoggingConfig"]["LogGroup"], function)
        assert group.properties["RetentionInDays"] == 30


def test_no_function_reserves_concurrency_because_a_new_account_has_little(each_templates: Templates) -> None:
    for function in each_templates.of_type("AWS::Lambda::Function"):
        assert "ReservedConcurrentExecutions" not in function.properties


def test_handlers_are_the_ones_of_the_folders(templates: Templates) -> None:
    handlers = {name: each.properties["Handler"] for name, each in templates.worker_functions().items()}
    assert handlers == HANDLERS


def test_all_functions_share_one_asset(templates: Templates) -> None:
    codes = [each.properties["Code"]["S3Key"] for each in templates.of_type("AWS::Lambda::Function")]
    assert len(set(codes)) == 1


def test_intake_is_started_by_objects_created_under_uploads_in_our_bucket_only(templates: Templates) -> None:
    (rule,) = [each for each in templates.of_type("AWS::Events::Rule") if "EventPattern" in each.properties]
    pattern = rule.properties["EventPattern"]
    (bucket,) = pattern["detail"].pop("bucket")["name"]
    assert templates.named(bucket, rule).type == "AWS::S3::Bucket"
    assert pattern == {
        "source": ["aws.s3"],
        "detail-type": ["Object Created"],
        "detail": {"object": {"key": [{"prefix": "uploads/"}]}},
    }


@pytest.mark.parametrize(("fixture", "rate"), [("templates", "rate(1 minute)"), ("other_templates", "rate(2 minutes)")])
def test_finish_and_the_reconciler_tick_as_set(request: pytest.FixtureRequest, fixture: str, rate: str) -> None:
    found: Templates = request.getfixturevalue(fixture)
    schedules = {
        found.named(rule.properties["Targets"][0]["Arn"], rule): rule.properties["ScheduleExpression"]
        for rule in found.of_type("AWS::Events::Rule")
        if "ScheduleExpression" in rule.properties
    }
    functions = found.worker_functions()
    assert schedules == {functions["finish"]: rate, functions["refund-reconcile"]: "rate(5 minutes)"}


def test_the_regions_are_those_where_the_installed_sdk_knows_the_bus() -> None:
    import botocore.session

    session = botocore.session.Session()
    assert set(REGIONS_WITH_THE_BUS) == set(session.get_available_regions("eventbridgev2"))
