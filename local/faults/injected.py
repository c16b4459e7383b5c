"""How often each fault of a cloud was injected, so that nobody takes one that never came for one that was survived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from local.faults.inside import arrivals_file
from local.faults.plan import PointFault


@dataclass(frozen=True)
class Injected:
    """`script` and `service` count the hits of each rule; handler processes count in files of `folder`."""

    script: Callable[[], list[int]]
    service: Callable[[], list[int]]
    handler: Sequence[PointFault] = ()
    folder: Path = Path()

    def counts(self) -> dict[str, list[int]]:
        """One number a rule or fault, in the order in which they were given."""
        arrived = [_size(arrivals_file(self.folder, index)) for index in range(len(self.handler))]
        hits = [min(max(0, n - fault.after), fault.times) for n, fault in zip(arrived, self.handler, strict=True)]
        return {"script": self.script(), "service": self.service(), "handler": hits}


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
