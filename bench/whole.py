"""What is measured from outside: the bundle as it ships, and the demonstration as a newcomer runs it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.child import ROOT, ChildError


def bundle(scratch: Path) -> Mapping[str, Any]:
    """The arm64 bundle, built and zipped twice: bytes of the zip file, and whether both are the same."""
    digests, size = set(), 0
    for number in (1, 2):
        target, zipped = scratch / f"bundle{number}", scratch / f"bundle{number}.zip"
        _run([sys.executable, "-m", "stacks.bundle", str(target)])
        _zip(target, zipped)
        digests.add(hashlib.sha256(zipped.read_bytes()).hexdigest())
        size = zipped.stat().st_size
        shutil.rmtree(target)
        zipped.unlink()
    return {"bytes": size, "identical": len(digests) == 1}


def demo_seconds() -> float:
    """`make demo`, after installation."""
    begun = time.monotonic()
    _run(["make", "--no-print-directory", "demo"])
    return time.monotonic() - begun


def _zip(folder: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.writestr(
                    zipfile.ZipInfo(str(path.relative_to(folder))), path.read_bytes(), zipfile.ZIP_DEFLATED
                )


def _run(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603 - fixed commands
    if done.returncode:
        raise ChildError(f"{' '.join(command)} ended with {done.returncode}: {(done.stderr or done.stdout)[-2000:]}")
