"""`python -m examples.walk`: every step against a fresh local cloud in a temporary folder. Linux only, for the kill.

Exit code 1, with a sentence, when something is not as it is told.
"""

from __future__ import annotations

import io
import signal
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType
from typing import NoReturn

from examples.walk.files import SETTINGS, write_files
from examples.walk.stage import Stage, WalkError
from examples.walk.steps import STEPS
from local.errors import LocalCloudError, sentence
from local.state import DEFAULT_STATE_FILE, down


def main() -> int:
    """Walk."""
    signal.signal(signal.SIGTERM, _leave)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="prospects-walk-") as name:
        folder = Path(name)
        stage = Stage(folder)
        try:
            _walk(stage, folder)
        except (WalkError, LocalCloudError) as error:
            sys.stdout.flush()
            sys.stderr.write(f"\nThe walk ends here: {sentence(str(error))}\n")
            return 1
        finally:
            down(folder / DEFAULT_STATE_FILE)
    stage.say("", f"All of it was as it should be; it took {time.monotonic() - begun:.0f} s.")
    return 0


def _walk(stage: Stage, folder: Path) -> None:
    write_files(folder)
    stage.say("A local cloud of its own. What a setting makes wait for minutes on AWS takes seconds here; script.json")
    stage.say("is for the stand-in that answers instead of Claude, payments.json for the one that pays refunds.")
    settings = [part for pair in SETTINGS.items() for part in ("--set", "=".join(pair))]
    stage.run("local", "up", "--claude", "script.json", "--payments", "payments.json", *settings)
    for number, (title, step) in enumerate(STEPS, 1):
        stage.say("", f"== {number} of {len(STEPS)}: {title} ==")
        step(stage)
    stage.say("")
    stage.run("local", "down")


def _leave(number: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
