"""The naive stack as a cloud assembly, so that it is deployed by the very code that deploys ours."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from bench.matrix.naive.template import NaiveStack, Worker
from local.settings import ACCOUNT, REGION
from stacks.settings import Settings

BUCKET = f"naive-assets-{ACCOUNT}-{REGION}"
_ROOT = Path(__file__).resolve().parents[3]
_SHIPPED = {"worker": _ROOT / "bench" / "matrix" / "naive" / "worker", "functions": _ROOT / "functions"}
"""The worker, and for the task what ours ships. Dependencies are imported from `.venv`, as ours are."""
_TEMPLATE = "naive.template.json"
_NOT_SHIPPED = shutil.ignore_patterns("__pycache__", "*.pyc", "requirements*", ".*")


def write_assembly(folder: Path, worker: Worker, settings: Settings, visibility_per_timeout: float) -> Path:
    """Fill the empty folder with manifest, template and code, and return it."""
    for name, package in _SHIPPED.items():
        shutil.copytree(package, folder / "code" / name, ignore=_NOT_SHIPPED)
    stack = NaiveStack(worker, settings, BUCKET, f"{worker}.zip", visibility_per_timeout)
    _write(folder / _TEMPLATE, stack.template())
    _write(folder / "manifest.json", _manifest(worker))
    files = {"code": _file("code", stack.code_key), "template": _file(_TEMPLATE, _TEMPLATE)}
    _write(folder / "naive.assets.json", {"files": files})
    return folder


def _manifest(worker: Worker) -> dict[str, Any]:
    stack = {
        "type": "aws:cloudformation:stack",
        "properties": {
            "templateFile": _TEMPLATE,
            "stackName": f"naive-{worker}",
            "stackTemplateAssetObjectUrl": f"s3://{BUCKET}/{_TEMPLATE}",
        },
    }
    return {"artifacts": {f"naive-{worker}": stack}}


def _file(path: str, key: str) -> dict[str, Any]:
    return {"source": {"path": path}, "destinations": {"here": {"bucketName": BUCKET, "objectKey": key}}}


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1))
