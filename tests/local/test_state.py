"""What `down` removes of a cloud that has ended by itself, and what it does not touch."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from local import cloud as cloud_module
from local.cloud import up
from local.errors import LocalCloudError
from local.group import FOLDER_PREFIX, members
from local.options import LocalCloudOptions
from local.settings import SETTINGS_FILE, ServerSettings
from local.state import Ended, State, down, write_state
from tests.local.toy import function, role, served, wait_for

NOBODY = 2**22 + 1
"""Above the largest process id of Linux."""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another place for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def dead(folder: Path, path: Path) -> Path:
    """The state file of a cloud that is gone."""
    write_state(
        State(pid=NOBODY, token="t", folder=folder, endpoint="http://127.0.0.1:9", stand_in=True, outputs={}), path
    )
    return path


def left_over(parent: Path, name: str = f"{FOLDER_PREFIX}abc", *, of: str = "t") -> Path:
    folder = parent / name
    (folder / "tmp").mkdir(parents=True)
    (folder / SETTINGS_FILE).write_text(ServerSettings(token=of).model_dump_json())
    return folder


def test_the_folder_of_a_dead_cloud_is_removed(temporary: Path, tmp_path: Path) -> None:
    folder = left_over(temporary)
    path = dead(folder, tmp_path / "state" / "state.json")
    assert down(path) == Ended(removed=folder)
    assert not folder.exists()
    assert not path.parent.exists()
    assert down(path) == Ended()


@pytest.mark.parametrize(
    ("name", "token", "inside"),
    [("my-thesis", "t", True), (f"{FOLDER_PREFIX}abc", "another", True), (f"{FOLDER_PREFIX}abc", "t", False)],
)
def test_a_folder_that_is_not_of_this_cloud_is_left(
    temporary: Path, tmp_path: Path, name: str, token: str, inside: bool
) -> None:
    folder = left_over(temporary if inside else tmp_path, name, of=token)
    assert down(dead(folder, tmp_path / "state.json")) == Ended(left=folder)
    assert (folder / SETTINGS_FILE).exists()


def test_a_link_to_a_folder_is_not_followed(temporary: Path, tmp_path: Path) -> None:
    precious = left_over(tmp_path, "precious")
    link = temporary / f"{FOLDER_PREFIX}link"
    link.symlink_to(precious)
    assert down(dead(link, tmp_path / "state.json")) == Ended(left=link)
    assert (precious / SETTINGS_FILE).exists()


def test_a_server_that_was_killed_leaves_neither_handlers_nor_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with served() as toy:
        busy = function("import time\ndef handler(event, context): time.sleep(600)", FunctionName="busy", Timeout=700)
        toy.deploy("one", {"Role": role(), "F": busy}, {})
        toy.clients.client("lambda").invoke(FunctionName="busy", InvocationType="Event", Payload=b"{}")
        wait_for(lambda: len(members(toy.group.pid)) == 2)
        state = State(
            pid=toy.group.pid,
            token="toy",
            folder=toy.group.folder,
            endpoint=toy.clients.endpoint,
            stand_in=True,
            outputs={},
        )
        write_state(state, path)
        os.kill(toy.group.pid, signal.SIGKILL)
        wait_for(lambda: toy.group.pid not in members(toy.group.pid))
        assert down(path) == Ended(removed=toy.group.folder)
        assert members(toy.group.pid) == []
        assert not toy.group.folder.exists()


SYNTHESIZES_FOR_EVER = """
import subprocess, sys, time
from pathlib import Path
from local import cloud
from local.options import LocalCloudOptions

def synthesize(context, *, scratch, group):
    subprocess.Popen(["sleep", "600"], process_group=group, stdin=subprocess.DEVNULL)
    print(group, scratch.parent, flush=True)
    time.sleep(600)

cloud.synthesize = synthesize
cloud.up(LocalCloudOptions(), progress=lambda stage: None, path=Path(sys.argv[1]))
"""


def test_up_that_is_killed_before_its_state_file_is_written_takes_all_along(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SYNTHESIZES_FOR_EVER, str(tmp_path / "state.json")]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as starting:
        assert starting.stdout is not None
        group, folder = starting.stdout.readline().split()
        wait_for(lambda: len(members(int(group))) == 2)
        starting.kill()
    wait_for(lambda: not members(int(group)))
    wait_for(lambda: not Path(folder).exists())
    assert not (tmp_path / "state.json").exists()


def test_up_first_removes_what_a_dead_cloud_left(
    temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise LocalCloudError("enough")

    monkeypatch.setattr(cloud_module, "LocalCloud", refused)
    folder = left_over(temporary)
    with pytest.raises(LocalCloudError, match="enough"):
        up(LocalCloudOptions(), progress=lambda _: None, path=dead(folder, tmp_path / "state.json"))
    assert not folder.exists()


def test_up_does_not_forget_a_cloud_that_hangs(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with served() as toy:
        state = State(
            pid=toy.group.pid,
            token="toy",
            folder=toy.group.folder,
            endpoint="http://127.0.0.1:9",
            stand_in=True,
            outputs={},
        )
        write_state(state, path)
        with pytest.raises(LocalCloudError, match="does not answer; end it with `prospects local down` first"):
            up(LocalCloudOptions(), progress=lambda _: None, path=path)
        assert path.exists()
