"""A local cloud with one tool's stack in the place of ours: the same emulator, stand-ins and deployment."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.refund_experiment.template import ExperimentStack
from bench.refund_experiment.timers import LOCAL, Timers
from bench.refund_experiment.variants import Tool
from local.cloud import LocalCloud
from local.options import LocalCloudOptions
from local.running import RunningCloud
from local.settings import ACCOUNT, REGION

SHIPPED = Path(__file__).resolve().parent / "worker"
"""Beside `functions/`; locally the dependencies are imported from `.venv`, as ours are."""
NOT_SHIPPED = shutil.ignore_patterns("__pycache__", "*.pyc", "requirements*", ".*")
_FUNCTIONS = Path(__file__).resolve().parents[2] / "functions"
_BUCKET = f"experiment-assets-{ACCOUNT}-{REGION}"
_NAME, _TEMPLATE, _CODE = "refund-experiment", "experiment.template.json", "code.zip"


@contextmanager
def local_ground(tool: Tool, *, handlers: int, timers: Timers = LOCAL) -> Iterator[RunningCloud]:
    """Raises LocalCloudError."""
    with _ExperimentCloud(tool, LocalCloudOptions(handlers=handlers), timers) as cloud:
        yield cloud


class _ExperimentCloud(LocalCloud):
    def __init__(self, tool: Tool, options: LocalCloudOptions, timers: Timers) -> None:
        super().__init__(options)
        self._tool = tool
        self._timers = timers

    def _assembly(self, context: Mapping[str, str]) -> Path:
        folder = self._started().scratch / "assembly"
        for source in (SHIPPED, _FUNCTIONS):
            shutil.copytree(source, folder / "code" / source.name, ignore=NOT_SHIPPED)
        secret = context["stripe_secret_name"] if self._tool.is_ours else ""
        stack = ExperimentStack(self._tool, self._timers, _BUCKET, _CODE, stripe_secret=secret)
        _write(folder / _TEMPLATE, stack.template())
        _write(folder / "manifest.json", {"artifacts": {_NAME: _artifact()}})
        _write(
            folder / "experiment.assets.json",
            {"files": {"code": _file("code", _CODE), "template": _file(_TEMPLATE, _TEMPLATE)}},
        )
        return folder


def _artifact() -> dict[str, Any]:
    properties = {
        "templateFile": _TEMPLATE,
        "stackName": _NAME,
        "stackTemplateAssetObjectUrl": f"s3://{_BUCKET}/{_TEMPLATE}",
    }
    return {"type": "aws:cloudformation:stack", "properties": properties}


def _file(path: str, key: str) -> dict[str, Any]:
    return {"source": {"path": path}, "destinations": {"here": {"bucketName": _BUCKET, "objectKey": key}}}


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1))
