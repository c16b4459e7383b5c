"""The functions' dependencies for Lambda: arm64 wheels, installed by uv, cut down to what runs."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

PLATFORM = "aarch64-manylinux_2_34"
"""Amazon Linux 2023, which Lambda's Python 3.13 runs on, has glibc 2.34."""

PYTHON = "3.13"

SERVICES = frozenset({"dynamodb", "eventbridgev2", "lambda", "s3", "secretsmanager", "sns", "sqs"})
"""The AWS services the functions call through boto3. A test compares this with the code."""


class BundleError(Exception):
    """The bundle cannot be built; the message says what is missing and what to do."""


def install_dependencies(requirements: Path, target: Path) -> None:
    """Install the pinned `requirements` into `target` and remove what Lambda never reads."""
    command = [
        *_uv(),
        *("pip", "install", "--quiet", "--no-config", "--require-hashes", "--only-binary", ":all:"),
        *("--python-platform", PLATFORM, "--python-version", PYTHON),
        # uv links files into its cache by default; what follows here must not reach that.
        *("--link-mode", "copy", "--target", str(target), "-r", str(requirements)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        raise BundleError(
            f"uv could not install {requirements.name} for Lambda (Python {PYTHON}, {PLATFORM}); "
            f"the package index must be reachable. uv said: {done.stderr.strip()}"
        )
    _prune(target)


def _uv() -> Sequence[str]:
    if importlib.util.find_spec("uv") is not None:
        return [sys.executable, "-m", "uv"]
    found = shutil.which("uv")
    if found is None:
        raise BundleError("uv is needed to build the functions' bundle: install it with `pip install uv`.")
    return [found]


def _prune(target: Path) -> None:
    for folder in (target / "botocore" / "data", target / "boto3" / "data"):
        for service in folder.iterdir():
            # Files beside the services (endpoints, partitions, retries) are read for all of them.
            if service.is_dir() and service.name not in SERVICES:
                shutil.rmtree(service)
    for unused in ("bin", "boto3/examples", ".lock"):
        _remove(target / unused)
    for pattern in ("**/__pycache__", "**/tests", "*.dist-info/RECORD", "*.dist-info/INSTALLER"):
        for path in list(target.glob(pattern)):
            _remove(path)
    for pattern in ("*.dist-info/REQUESTED", "*.dist-info/direct_url.json", "*.dist-info/uv_*.json"):
        for path in list(target.glob(pattern)):
            _remove(path)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
