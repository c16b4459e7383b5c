"""The CDK application: `cdk deploy --all`, or `python app.py` for the templates alone (offline, without an account)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from stacks.bundle import Bundler
from stacks.dependencies import BundleError
from stacks.deployment import add_stacks, check
from stacks.retries import TwoLayersRetryError, retries_text
from stacks.settings import SettingRefusedError, Settings, read_settings

from aws_cdk import App  # isort: skip -- after stacks, which chooses the Node that runs it

ROOT = Path(__file__).resolve().parent
CODE_ONLY = (
    "note: the functions are bundled without their dependencies (setting bundle=code, or not run by the CDK CLI): "
    "enough for templates and the local cloud, not for AWS."
)
NOBODY_TOLD = "note: no alert_email is set, so alarms and summaries reach nobody; add -c alert_email=you@example.com."


def main(environ: Mapping[str, str] = os.environ) -> int:
    """Write the cloud assembly to `cdk.out` (or CDK_OUTDIR); 1 and a sentence on stderr when it is refused."""
    outdir = Path(environ.get("CDK_OUTDIR") or ROOT / "cdk.out")
    # The CLI's context (-c, CDK_CONTEXT_JSON) goes before these; without the CLI nobody else reads them.
    defaults = json.loads((ROOT / "cdk.json").read_text())["context"]
    if not _is_context(environ.get("CDK_CONTEXT_JSON", "{}")):
        _say('CDK_CONTEXT_JSON: it must be one JSON object of settings, like {"max_receives": 5}.')
        return 1
    app = App(context=defaults, outdir=str(outdir), analytics_reporting=False)
    try:
        context = app.node.get_all_context()
        settings = read_settings(app.node.try_get_context, environ, context, _meant_as_settings(environ))
        bundler = Bundler(with_dependencies=_full(settings, environ))
        retries = add_stacks(app, settings, bundler)
    except (SettingRefusedError, BundleError, TwoLayersRetryError) as refused:
        _say(str(refused))
        return 1
    sys.stderr.write(retries_text(retries))
    check(app, settings)
    return _synth(app, outdir)


def _is_context(given: str) -> bool:
    try:
        return isinstance(json.loads(given), dict)
    except ValueError:
        return False


def _meant_as_settings(environ: Mapping[str, str]) -> list[str]:
    """Names given without the CDK CLI, which adds names of its own and those of a person's other projects."""
    return [] if "CDK_CLI_VERSION" in environ else list(json.loads(environ.get("CDK_CONTEXT_JSON", "{}")))


def _full(settings: Settings, environ: Mapping[str, str]) -> bool:
    by_cli = "CDK_CLI_VERSION" in environ
    full = settings.bundle == "full" or (settings.bundle == "auto" and by_cli)
    if not full:
        _say(CODE_ONLY)
    if by_cli and not settings.alert_email:
        _say(NOBODY_TOLD)
    return full


def _synth(app: App, outdir: Path) -> int:
    """The CDK prints findings itself; whether it also raises depends on what runs it, so the report decides."""
    try:
        app.synth()
    except RuntimeError as error:
        if not str(error).startswith("ValidationFailed"):
            raise
        _say(str(error))
        return 1
    report = json.loads((outdir / "validation-report.json").read_text())
    return int(any(plugin["conclusion"] == "failure" for plugin in report["pluginReports"]))


def _say(sentence: str) -> None:
    sys.stderr.write(f"{sentence}\n")


if __name__ == "__main__":
    sys.exit(main())
