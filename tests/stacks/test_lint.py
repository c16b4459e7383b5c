"""The templates pass cfn-lint, but for the exceptions that .cfnlintrc names with their reasons."""

from __future__ import annotations

import subprocess
import sys

from tests.stacks.templates import ROOT, Templates

CFN_LINT = (sys.executable, "-c", "from cfnlint.runner import main; main()")


def test_cfn_lint_finds_nothing_whatever_the_settings(templates: Templates, other_templates: Templates) -> None:
    files = [str(path) for found in (templates, other_templates) for path in found.folder.glob("*.template.json")]
    done = subprocess.run(
        [*CFN_LINT, "--config-file", str(ROOT / ".cfnlintrc"), "--", *files],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=templates.folder,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
