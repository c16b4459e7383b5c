"""cdk-nag judges every synth: what it finds is acknowledged with a reason, or the synth fails."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from stacks.acknowledgements import Acknowledgement, acknowledge, acknowledgements
from stacks.bundle import Bundler
from stacks.deployment import add_stacks, check
from tests.stacks.templates import settings_of

from aws_cdk import App, Stack  # isort: skip -- after stacks, which chooses the Node that runs it
from aws_cdk import aws_s3 as s3  # isort: skip
from cdk_nag import AwsSolutionsChecks, NagPack, ServerlessChecks  # isort: skip

SETTINGS = {
    "anthropic": {},
    "bedrock": {
        "alert_email": "ops@example.com",
        "model_provider": "bedrock",
        "model_id": "us.anthropic.claude-haiku-5-5",
    },
}


def findings(pack: NagPack, app: App) -> set[tuple[str, str]]:
    """Every rule and construct path that a pack objects to, acknowledged or not."""
    report = pack.validate_scope(app)
    return {
        (violation.rule_name, resource.construct_path)
        for violation in report.violations
        for resource in violation.violating_resources
    }


def covers(each: Acknowledgement, rule: str, path: str) -> bool:
    wanted, parts = each.where.split("/"), path.split("/")
    return each.rule == rule and all(map(fnmatchcase, parts, wanted)) and len(parts) >= len(wanted)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_finding_is_acknowledged_and_every_acknowledgement_has_a_finding(
    tmp_path: Path, package: Path, name: str
) -> None:
    app = App(outdir=str(tmp_path))
    settings = settings_of(**SETTINGS[name])
    add_stacks(app, settings, Bundler(with_dependencies=False, package=package))
    found = findings(AwsSolutionsChecks(app), app) | findings(ServerlessChecks(app), app)
    chosen = acknowledgements(settings)
    assert {finding for finding in found if not any(covers(each, *finding) for each in chosen)} == set()
    assert [each for each in chosen if not any(covers(each, *finding) for finding in found)] == []


def test_every_acknowledgement_gives_its_reason_for_a_construct_and_not_for_a_whole_stack() -> None:
    for each in acknowledgements(settings_of(**SETTINGS["bedrock"])):
        assert len(each.reason.split()) > 8
        assert each.where.count("/") >= 1


def test_an_acknowledgement_of_nothing_is_refused() -> None:
    app = App()
    Stack(app, "Empty")
    with pytest.raises(LookupError, match="is about Empty/Bucket, which does not exist"):
        acknowledge(app, [Acknowledgement("AwsSolutions-S1", "Empty/Bucket", "no reason")])


def test_a_finding_nobody_acknowledged_fails_the_synth(tmp_path: Path, package: Path) -> None:
    app = App(outdir=str(tmp_path))
    settings = settings_of()
    add_stacks(app, settings, Bundler(with_dependencies=False, package=package))
    s3.CfnBucket(app.node.find_child("ProspectUploaderStorage"), "Open")
    check(app, settings)
    with pytest.raises(RuntimeError, match="AwsSolutions-S1"):
        app.synth()
