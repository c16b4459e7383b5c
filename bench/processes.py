"""The processes of a local cloud: which handler each one is, what memory it takes, and killing one. Linux only."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from local.group import members

SERVER = "local cloud"
_FUNCTION = b"AWS_LAMBDA_FUNCTION_NAME="
_KIB_A_MIB = 1024


@dataclass(frozen=True)
class Processes:
    """`group` is the cloud's process group, `functions` the names of its functions by their role."""

    group: int
    functions: Mapping[str, str]

    def of(self, role: str) -> list[int]:
        """Process ids of the handlers of one function."""
        return [pid for pid, found in self._roles().items() if found == role]

    def resident_mib(self) -> dict[str, float]:
        """Resident memory of the largest process of each role, in MiB."""
        found: dict[str, float] = {}
        for pid, role in self._roles().items():
            with contextlib.suppress(OSError, StopIteration):
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                line = next(line for line in lines if line.startswith("VmRSS:"))
                found[role] = max(found.get(role, 0.0), int(line.split()[1]) / _KIB_A_MIB)
        return found

    def kill_if(self, role: str, still: Callable[[], bool]) -> bool:
        """Stop the role's processes, and kill them if it is `still` the moment to; else let them go on."""
        stopped = self.of(role)
        _send(stopped, signal.SIGSTOP)
        # Asked while nothing of it moves, so the answer holds when the signal comes.
        now = bool(stopped) and still()
        _send(stopped, signal.SIGKILL if now else signal.SIGCONT)
        return now

    def _roles(self) -> dict[int, str]:
        roles = {name.encode(): role for role, name in self.functions.items()}
        found = {self.group: SERVER}
        for pid in members(self.group):
            with contextlib.suppress(OSError):
                for variable in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    if variable.startswith(_FUNCTION) and (role := roles.get(variable.removeprefix(_FUNCTION))):
                        found[pid] = role
        return found


@dataclass
class Memory:
    """Resident memory by role over the rows that had ended when it was looked at."""

    samples: dict[str, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))

    def note(self, rows_ended: int, resident_mib: Mapping[str, float]) -> None:
        for role, mib in resident_mib.items():
            self.samples[role].append((rows_ended, mib))

    def peak(self, role: str) -> float:
        return max((mib for _, mib in self.samples.get(role, ())), default=0.0)

    def slope(self, role: str) -> float:
        """MiB a 1,000 rows, by least squares over the second half of the rows; 0 with fewer than three samples."""
        samples = self.samples.get(role, [])
        steady = [(rows, mib) for rows, mib in samples if rows >= samples[-1][0] / 2]
        if len(steady) < 3:
            return 0.0
        rows_mean = sum(rows for rows, _ in steady) / len(steady)
        mib_mean = sum(mib for _, mib in steady) / len(steady)
        spread = sum((rows - rows_mean) ** 2 for rows, _ in steady)
        return 1000 * sum((r - rows_mean) * (m - mib_mean) for r, m in steady) / spread if spread else 0.0


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
