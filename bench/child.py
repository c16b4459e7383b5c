"""One piece of work measured in a process of its own, so that neither memory nor caches of another one count.

The work is `module:function`, called with one argument. The function imports what it needs before it returns the
callable that is measured: what was imported is idle memory.
"""

from __future__ import annotations

import gc
import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
Work = Callable[[], Mapping[str, Any]]
_MIB = 1 << 20


class ChildError(Exception):
    """The process that was to be measured did not end well; the message ends with what it said last."""


@dataclass(frozen=True)
class Measured:
    """`wall_s` and `cpu_s` (of the whole process) are seconds; `grown_mib` is the peak memory above `idle_mib`."""

    wall_s: float
    cpu_s: float
    idle_mib: float
    grown_mib: float
    found: Mapping[str, Any]


def measure(work: str, argument: str, *, python: Path | str = sys.executable) -> Measured:
    """Run `work` in a child of `python`. Raises ChildError."""
    command = [str(python), "-m", "bench.child", work, argument]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - our own module
    if done.returncode:
        raise ChildError(f"{work} ended with {done.returncode}: {done.stderr.strip()[-2000:]}")
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def resident() -> tuple[float, float]:
    """Resident memory of this process now and at its peak, in MiB.

    Not getrusage: its peak starts with that of the process that started this one. Linux only.
    """
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":" in line)
    now, peak = (int(fields[name].split()[0]) * 1024 / _MIB for name in ("VmRSS", "VmHWM"))
    return now, peak


def _main(work: str, argument: str) -> None:
    module, _, function = work.partition(":")
    run: Work = getattr(importlib.import_module(module), function)(argument)
    gc.collect()
    idle, _ = resident()
    wall, cpu = time.perf_counter(), time.process_time()
    found = run()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    measured = Measured(wall, cpu, idle, resident()[1] - idle, found)
    sys.stdout.write(json.dumps(vars(measured)) + "\n")


if __name__ == "__main__":
    _main(*sys.argv[1:3])
