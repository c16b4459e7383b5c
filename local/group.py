"""A process group with its own temporary folder: started together, ended together, nothing left behind.

The server's standard input is a lifeline: when it closes without a word, the caller is gone, and everything goes too.
"""

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
from typing import IO, Any

from local.errors import LocalCloudError
from local.settings import LOG_FILE, SECRET, SETTINGS_FILE, ServerSettings

FOLDER_PREFIX = "prospects-local-"
STAY = b"stay"
"""Said on the lifeline: from now on the server does without it."""

ROOT = Path(__file__).resolve().parent.parent
_GONE_S = 5.0
_POLL_S = 0.02
_THROUGH = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "LOG_LEVEL")
_THROUGH_TO_THE_WORLD = ("HTTPS_PROXY", "https_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")


class Group:
    """The server and whatever it starts. `world`: the handlers talk to a real endpoint, through the caller's proxy."""

    def __init__(self, settings: ServerSettings, *, world: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX))
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
        end_group(self._server.pid, reap=self._server)
        # Only now: the server would take a lifeline that closes for the end of its caller.
        self._close_lifeline()
        remove_folder(self.folder)

    def release(self) -> None:
        """Let the group outlive this process. Raises `LocalCloudError` when it has ended already."""
        try:
            self._lifeline.write(STAY)
            self._lifeline.flush()
        except OSError:
            raise LocalCloudError("The local cloud ended before it could be left alone.") from None
        self._close_lifeline()
        self._server.returncode = 0

    @property
    def _lifeline(self) -> IO[bytes]:
        if self._server.stdin is None:
            raise LocalCloudError("The local cloud has no lifeline.")
        return self._server.stdin

    def _close_lifeline(self) -> None:
        with contextlib.suppress(OSError):
            self._lifeline.close()

    def _start(self, settings: ServerSettings, *, world: bool) -> subprocess.Popen[bytes]:
        self.scratch.mkdir()
        (self.folder / SETTINGS_FILE).write_text(settings.model_dump_json())
        with self.log.open("wb") as log:
            return subprocess.Popen(  # noqa: S603 - our own module, our own folder
                [sys.executable, "-m", "local.server", str(self.folder)],
                cwd=ROOT,
                env=_clean_environment(self.folder, self.scratch, world=world),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                # No session of its own: a process of the caller, such as the synth, could not join its group then.
                process_group=0,
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
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def end_group(group_id: int, *, reap: subprocess.Popen[Any] | None = None) -> None:
    """SIGKILL to the group, of which nothing is to be kept, and wait until no process of it is left."""
    deadline = time.monotonic() + _GONE_S
    while time.monotonic() < deadline:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group_id, signal.SIGKILL)
        if reap is not None:
            reap.poll()
        if not members(group_id):
            if reap is not None:
                reap.wait(_GONE_S)
            return
        time.sleep(_POLL_S)


def remove_folder(folder: Path) -> bool:
    """Remove a folder whose writers have ended; False when something of it stays, whatever was tried."""
    deadline = time.monotonic() + _GONE_S
    while os.path.lexists(folder):
        shutil.rmtree(folder, ignore_errors=True)
        if time.monotonic() > deadline:
            return not os.path.lexists(folder)
        time.sleep(_POLL_S)
    return True


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
