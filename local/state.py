"""A local cloud that stays: where a later command finds it, and how it is told from what is left of an old one."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from local.errors import LocalCloudError
from local.group import FOLDER_PREFIX, end_group, members, remove_folder
from local.running import RunningCloud, ask
from local.settings import SETTINGS_FILE, ServerSettings

DEFAULT_STATE_FILE = Path(".local-cloud") / "state.json"
_ANSWER_S = 2.0


class State(BaseModel):
    """The running cloud: its process group, its folder, its address, and the outputs of its stacks."""

    model_config = ConfigDict(frozen=True)

    pid: int
    token: str
    folder: Path
    endpoint: str
    stand_in: bool
    outputs: Mapping[str, str]


@dataclass(frozen=True)
class Ended:
    """What `down` did: ended a cloud that ran, `removed` its folder; `left` is a folder that is still there."""

    ran: bool = False
    removed: Path | None = None
    left: Path | None = None


def write_state(state: State, path: Path = DEFAULT_STATE_FILE) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = _unfinished(path)
    unfinished.write_text(state.model_dump_json(indent=2))
    unfinished.rename(path)


def find_running(path: Path = DEFAULT_STATE_FILE) -> RunningCloud | None:
    """The cloud of the state file when that very one still answers; None otherwise."""
    state = _read(path)
    if state is None or not _answers(state):
        return None
    return RunningCloud(state.endpoint, state.outputs, stand_in=state.stand_in)


def hangs(path: Path = DEFAULT_STATE_FILE) -> bool:
    """Whether the cloud of the state file still runs without an answer."""
    state = _read(path)
    return state is not None and not _answers(state) and _is_ours(state)


def down(path: Path = DEFAULT_STATE_FILE) -> Ended:
    """End the cloud of the state file, and only that, or remove what is left of it. The file goes either way."""
    state = _read(path)
    ended = Ended() if state is None else _end(state)
    forget_state(path)
    return ended


def forget_state(path: Path = DEFAULT_STATE_FILE) -> None:
    """Remove the file, and its folder when nothing else is in it."""
    with contextlib.suppress(OSError):
        _unfinished(path).unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        path.parent.rmdir()


def _end(state: State) -> Ended:
    ran = _is_ours(state)
    if ran:
        end_group(state.pid)
    else:
        _end_orphans(state)
    if not os.path.lexists(state.folder):
        return Ended(ran)
    gone = _is_group_folder(state) and remove_folder(state.folder)
    return Ended(ran, removed=state.folder) if gone else Ended(ran, left=state.folder)


def _end_orphans(state: State) -> None:
    """The handlers of a server that was killed: of its group, and with their temporary files in its folder."""
    own = f"TMPDIR={state.folder}{os.sep}".encode()
    for pid in members(state.pid):
        with contextlib.suppress(OSError):
            if any(each.startswith(own) for each in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")):
                os.kill(pid, signal.SIGKILL)


def _is_group_folder(state: State) -> bool:
    """Whether the folder is that of this very cloud: a state file may name anything, and all of it would be removed."""
    folder = state.folder
    if folder.parent.resolve() != Path(tempfile.gettempdir()).resolve() or not folder.name.startswith(FOLDER_PREFIX):
        return False
    try:
        if folder.is_symlink() or not folder.is_dir() or folder.stat().st_uid != os.getuid():
            return False
        settings = ServerSettings.model_validate_json((folder / SETTINGS_FILE).read_text())
    except FileNotFoundError:
        return True
    except (OSError, ValidationError):
        return False
    return settings.token == state.token


def _unfinished(path: Path) -> Path:
    return path.with_suffix(".part")


def _read(path: Path) -> State | None:
    try:
        return State.model_validate_json(path.read_text())
    except (OSError, ValidationError):
        return None


def _answers(state: State) -> bool:
    """Whether this very cloud is at its address: another may have taken the port since."""
    try:
        return bool(ask(state.endpoint, "status", timeout_s=_ANSWER_S) == {"token": state.token, "pid": state.pid})
    except LocalCloudError:
        return False


def _is_ours(state: State) -> bool:
    """Whether the group is the one that was started, also when it hangs: a process id alone may be another's by now."""
    if _answers(state):
        return True
    with contextlib.suppress(OSError):
        command = Path(f"/proc/{state.pid}/cmdline").read_bytes().split(b"\0")
        return str(state.folder).encode() in command and state.pid in members(state.pid)
    return False
