"""The cloud assembly: `app.py` run in a process of its own; kept under `build/` while nothing it read has changed."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from local.errors import GivenError, LocalCloudError, sentence

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "build" / "assemblies"
SYNTH_LOG = "synth.log"
_READ_BY_APP = ("app.py", "cdk.json", "stacks", "functions")
_PACKAGES = ("aws-cdk-lib", "constructs", "cdk-nag")
_TIMEOUT_S = 180
_REFUSAL = "setting "
"""How app.py begins the sentence about a setting that it refuses."""
_KEPT = 4
_THROUGH = ("PATH", "HOME", "LANG", "JSII_NODE", "SYSTEMROOT")


def synthesize(
    context: Mapping[str, str], *, scratch: Path, group: int = 0, root: Path = ROOT, cache: Path = CACHE
) -> Path:
    """The folder of the assembly for these context settings.

    `app.py` works in `scratch` and in the process group `group` (0: one of its own), so whoever ends that group and
    that folder ends an unfinished synth too. Raises `LocalCloudError` with the last line of what `app.py` said; all of
    it is in SYNTH_LOG of `scratch` then.
    """
    kept = cache / _key(context, root)
    if not (kept / "manifest.json").exists():
        output = scratch / "assembly"
        _run_app(output, context, root, group)
        _keep(output, kept)
    with contextlib.suppress(OSError):
        os.utime(kept)
    _forget_old(cache, kept)
    return kept


def _keep(output: Path, kept: Path) -> None:
    """Whole or not at all; whoever made the same one meanwhile made the same content."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix="synth-", dir=kept.parent))
    try:
        shutil.copytree(output, unfinished, dirs_exist_ok=True)
        with contextlib.suppress(OSError):
            unfinished.rename(kept)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    if not (kept / "manifest.json").exists():
        raise LocalCloudError(f"The synthesized stacks could not be kept in {kept.parent}.")


def _run_app(output: Path, context: Mapping[str, str], root: Path, group: int) -> None:
    environment = {
        **{name: os.environ[name] for name in _THROUGH if name in os.environ},
        "CDK_OUTDIR": str(output),
        "CDK_CONTEXT_JSON": json.dumps(dict(context)),
        # What the app builds on the way is temporary too.
        "TMPDIR": str(output.parent),
    }
    try:
        app = subprocess.Popen(
            [sys.executable, "app.py"],
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            process_group=group,
        )
    except OSError as error:
        raise LocalCloudError(f"The stacks cannot be synthesized: {error.strerror}.") from error
    with app:
        try:
            _, said = app.communicate(timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise LocalCloudError(f"The stacks were not synthesized within {_TIMEOUT_S} s.") from None
        finally:
            # Also on Ctrl-C; the Node process it runs ends with its group, or with its input.
            app.kill()
    if app.returncode:
        (output.parent / SYNTH_LOG).write_text(said)
        raise _fault(said)


def _fault(said: str) -> LocalCloudError:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = lines[-1] if lines else "app.py failed without a word."
    kind = GivenError if last.startswith(_REFUSAL) else LocalCloudError
    return kind(sentence(f"The stacks cannot be synthesized: {last}"))


def _key(context: Mapping[str, str], root: Path) -> str:
    digest = hashlib.sha256(json.dumps(dict(context), sort_keys=True).encode())
    for package in _PACKAGES:
        digest.update(f"{package} {importlib.metadata.version(package)}\n".encode())
    for path in _sources(root):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


def _sources(root: Path) -> Iterator[Path]:
    for name in _READ_BY_APP:
        path = root / name
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (each for each in found if each.is_file() and "__pycache__" not in each.parts)


def _forget_old(cache: Path, kept: Path) -> None:
    folders = [path for path in cache.iterdir() if path.is_dir() and path != kept]
    with contextlib.suppress(OSError):
        folders.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in folders[_KEPT - 1 :]:
            shutil.rmtree(path, ignore_errors=True)
