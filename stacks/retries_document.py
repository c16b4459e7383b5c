"""The retry arithmetic of every worker as a table for people: `python -m stacks.retries_document`."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from stacks.bundle import Bundler
from stacks.deployment import add_stacks
from stacks.retries import Retries, retries_table
from stacks.settings import Settings

from aws_cdk import App  # isort: skip -- after stacks, which chooses the Node that runs it

CONTEXT = Path(__file__).resolve().parents[1] / "cdk.json"


def default_retries() -> list[Retries]:
    """Of a deployment with every setting at its default."""
    with tempfile.TemporaryDirectory() as folder:
        context = json.loads(CONTEXT.read_text())["context"]
        app = App(context=context, outdir=folder, analytics_reporting=False)
        return add_stacks(app, Settings(), Bundler(with_dependencies=False))


if __name__ == "__main__":
    sys.stdout.write(retries_table(default_retries()))
