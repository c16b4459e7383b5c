"""A local cloud that stays: where a later command finds it, and how it is told from what is left of an old one."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from local.errors import LocalCloudError
from local.group import end_group, members
from local.running import RunningCloud, ask

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


def write_state(state: State, path: Path = DEFAULT_STATE_FILE) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.write_text(state.model_dump_json(indent=2))
    unfinished.rename(path)


def find_running(path: Path = DEFAULT_STATE_FILE) -> RunningCloud | None:
    """The cloud of the state file when that very one still answers; None otherwise."""
    state = _read(path)
    if state is None or not _answers(state):
        return None
    return RunningCloud(state.endpoint, state.outputs, stand_in=state.stand_in)


def down(path: Path = DEFAULT_STATE_FILE) -> bool:
    """End the cloud of the state file, and only that; False when there was none to end. The file goes either way."""
    state = _read(path)
    ours = state is not None and _is_ours(state)
    if state is not None and ours:
        end_group(state.pid)
        shutil.rmtree(state.folder, ignore_errors=True)
    path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        path.parent.rmdir()
    return ours


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
