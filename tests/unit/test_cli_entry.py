"""The installed command, ended from outside at its worst moments: one sentence at most, and no traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INTERRUPTED_WHILE_IMPORTING = """
import sys
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
from cli.entry import main
main()
"""


def run(code: str, stdout: object = subprocess.PIPE) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)  # type: ignore[call-overload,no-any-return]


def test_ctrl_c_while_it_is_still_being_imported_ends_it_like_any_other() -> None:
    done = run(INTERRUPTED_WHILE_IMPORTING)
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_output_that_cannot_be_written_is_one_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        done = run("import sys; sys.argv[1:] = ['--help']; from cli.entry import main; main()", full)
    assert (done.returncode, done.stderr) == (2, "The output cannot be written: no space left on device.\n")
