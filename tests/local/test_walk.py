"""`make walk`: every step of it as it is shown, once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from examples.walk.steps import STEPS

ROOT = Path(__file__).resolve().parents[2]


def test_every_step_is_shown_and_holds() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.walk"], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    shown = done.stdout.splitlines()
    for number, (title, _) in enumerate(STEPS, 1):
        assert f"== {number} of {len(STEPS)}: {title} ==" in shown
    for command in ("approve", "resume", "failures", "retry", "audit", "results", "status", "local outbox", "refund"):
        assert [line for line in shown if line.startswith(f"$ prospects {command}")]
    # No terminal, no colours.
    assert "\x1b" not in done.stdout
    assert shown[-1].startswith("All of it was as it should be")
