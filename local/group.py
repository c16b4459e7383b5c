"""A process group with its own temporary folder: started together, ended together, nothing left behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from local.settings import LOG_FILE, SETTINGS_FILE, ServerSettings

_ROOT = Path(__file__).resolve().parent.parent
_GRACE_S = 3.0
_GONE_S = 5.0
_POLL_S = 0.02
_THROUGH = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "LOG_LEVEL")
_THROUGH_TO_THE_WORLD = ("HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")


class Group:
    """The server and whatever it starts. `world`: the handlers talk to a real endpoint, through the caller's proxy."""

    def __init__(self, settings: ServerSettings, *, world: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="prospects-local-"))
        try:
            self._server = self._start(settings, world=world)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    @property
    def pid(self) -> int:
        return self._server.pid

    @property
    def scratch(self) -> Path:
        """Where temporary files belong: it goes with the group."""
        return self.folder / "tmp"

    @property
    def log(self) -> Path:
        return self.folder / LOG_FILE

    def alive(self) -> bool:
        return self._server.poll() is None

    def end(self) -> None:
        """End the whole group and remove its folder. May be called twice."""
        if self._server.stdin is not None:
            with contextlib.suppress(OSError):
                self._server.stdin.close()
        end_group(self._server.pid, reap=self._server)
        shutil.rmtree(self.folder, ignore_errors=True)

    def release(self) -> None:
        """Let the group outlive this process (it was started without a lifeline)."""
        self._server.returncode = 0

    def _start(self, settings: ServerSettings, *, world: bool) -> subprocess.Popen[bytes]:
        self.scratch.mkdir()
        (self.folder / SETTINGS_FILE).write_text(settings.model_dump_json())
        with self.log.open("wb") as log:
            return subprocess.Popen(  # noqa: S603 - our own module, our own folder
                [sys.executable, "-m", "local.server", str(self.folder)],
                cwd=_ROOT,
                env=_clean_environment(self.folder, self.scratch, world=world),
                stdin=subprocess.PIPE if settings.lifeline else subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A cloud that stays needs a session of its own; the other takes the synth into its group.
                start_new_session=not settings.lifeline,
                process_group=0 if settings.lifeline else None,
            )


def _clean_environment(home: Path, temporary: Path, *, world: bool) -> dict[str, str]:
    """What the server and the handlers see: no credentials and no settings of the person who started it."""
    through = _THROUGH + (_THROUGH_TO_THE_WORLD if world else ())
    return {
        **{name: os.environ[name] for name in through if name in os.environ},
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "NO_PROXY": "127.0.0.1,localhost",
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def end_group(group_id: int, *, reap: subprocess.Popen[Any] | None = None) -> None:
    """SIGTERM to the group, SIGKILL after a grace, and wait until no process of it is left."""
    for number, patience_s in ((signal.SIGTERM, _GRACE_S), (signal.SIGKILL, _GONE_S)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group_id, number)
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            if reap is not None:
                reap.poll()
            if not members(group_id):
                if reap is not None:
                    reap.wait(_GONE_S)
                return
            time.sleep(_POLL_S)


def members(group_id: int) -> list[int]:
    """Process ids of a group that still run; on systems without /proc the group's id while any of it is left."""
    if not Path("/proc/self/stat").exists():
        try:
            os.killpg(group_id, 0)
        except (ProcessLookupError, PermissionError):
            return []
        return [group_id]
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # After the name, which may hold anything: state, parent, group.
            state, _, group = stat.read_text().rpartition(")")[2].split()[:3]
            if int(group) == group_id and state not in "ZX":
                found.append(int(stat.parent.name))
    return found
