"""A local cloud with a naive stack in the place of ours: the same emulator, stand-in and deployment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench.matrix.naive.assembly import write_assembly
from bench.matrix.naive.template import Worker
from local.cloud import LocalCloud
from local.options import LocalCloudOptions
from stacks.settings import Settings, read_settings


class NaiveCloud(LocalCloud):
    """`settings` are those that our stack would have in the context of `options`."""

    def __init__(self, worker: Worker, options: LocalCloudOptions, *, visibility_per_timeout: float) -> None:
        super().__init__(options)
        self.settings = settings_of(options)
        self._worker: Worker = worker
        self._visibility_per_timeout = visibility_per_timeout

    def _assembly(self, context: Mapping[str, str]) -> Path:  # noqa: ARG002 - read into `settings` already
        folder = self._started().scratch / "assembly"
        folder.mkdir()
        return write_assembly(folder, self._worker, self.settings, self._visibility_per_timeout)


def settings_of(options: LocalCloudOptions) -> Settings:
    """Raises SettingRefusedError."""
    return read_settings(options.stack_context().get, {})
