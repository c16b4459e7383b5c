"""The process group: everything on 127.0.0.1, nothing left behind, nothing inherited."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from local.group import Group, end_group, members, remove_folder
from local.running import ask
from local.settings import FAILED_FILE, READY_FILE, Ready, ServerSettings
from local.state import Ended, State, down, find_running, write_state
from tests.local.toy import DEADLINE_S, Toy, function, role, served, wait_for

pytestmark = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads the sockets in /proc")

LISTENING = "0A"
LOCALHOST = "0100007F"
WRITES_FOR_EVER = """
import os, sys
while True:
    os.makedirs(sys.argv[1], exist_ok=True)
    try:
        open(os.path.join(sys.argv[1], "f"), "w").close()
    except OSError:
        pass
"""


def listening_addresses(pids: list[int]) -> list[str]:
    """Local addresses of every listening socket of these processes, as the kernel writes them."""
    inodes = {
        str(link.readlink()).removeprefix("socket:[").removesuffix("]")
        for pid in pids
        for link in Path(f"/proc/{pid}/fd").iterdir()
        if str(link.readlink()).startswith("socket:[")
    }
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and fields[9] in inodes:
                found.append(fields[1].split(":")[0])
    return found


SHOWS_ITS_ENVIRONMENT = {
    "Role": role(),
    "F": function("import os\ndef handler(event, context): return dict(os.environ)", FunctionName="environment"),
}


@pytest.fixture(scope="module")
def running() -> Iterator[Toy]:
    with served() as toy:
        toy.deploy("one", SHOWS_ITS_ENVIRONMENT, {})
        yield toy


def environment_of_a_handler(toy: Toy) -> dict[str, str]:
    answer = toy.clients.client("lambda").invoke(FunctionName="environment", Payload=b"{}")
    return dict(json.loads(answer["Payload"].read()))


def test_every_listening_socket_is_on_localhost(running: Toy) -> None:
    environment_of_a_handler(running)
    group = members(running.group.pid)
    assert len(group) >= 2
    addresses = listening_addresses(group)
    # The gateway, Claude's stand-in and the payment provider's.
    assert len(addresses) == 3
    assert set(addresses) == {LOCALHOST}


def test_handlers_see_nothing_of_the_callers_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a real one")
    monkeypatch.setenv("AWS_PROFILE", "production")
    with served() as toy:
        toy.deploy("one", SHOWS_ITS_ENVIRONMENT, {})
        seen = environment_of_a_handler(toy)
    assert "ANTHROPIC_API_KEY" not in seen
    assert "AWS_PROFILE" not in seen
    assert seen["ANTHROPIC_BASE_URL"].startswith("http://127.0.0.1:")
    assert seen["STRIPE_API_BASE"].startswith("http://127.0.0.1:")
    assert seen["AWS_ENDPOINT_URL"].startswith("http://127.0.0.1:")


def test_the_end_leaves_no_process_and_no_folder() -> None:
    with served() as toy:
        toy.deploy("one", {"Role": role(), "F": function("def handler(e, c): return 1", FunctionName="f")}, {})
        toy.clients.client("lambda").invoke(FunctionName="f", Payload=b"{}")
        assert len(members(toy.group.pid)) == 2
    assert members(toy.group.pid) == []
    assert not toy.group.folder.exists()


def test_a_caller_that_is_killed_takes_its_cloud_along() -> None:
    with calling("time.sleep(600)") as (caller, pid, folder):
        wait_for((folder / READY_FILE).exists)
        caller.send_signal(signal.SIGKILL)
    wait_for(lambda: not members(pid))
    wait_for(lambda: not folder.exists())


def test_the_folder_goes_although_the_server_writes_into_it_to_the_last() -> None:
    with calling("time.sleep(600)") as (caller, pid, folder):
        wait_for((folder / READY_FILE).exists)
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITES_FOR_EVER, str(folder / "tmp" / "handler" / "code")], process_group=pid
        )
        wait_for((folder / "tmp" / "handler").exists)
        caller.send_signal(signal.SIGKILL)
    assert writer.wait(DEADLINE_S) == -signal.SIGKILL
    wait_for(lambda: not members(pid))
    wait_for(lambda: not folder.exists())


def test_a_cloud_that_was_told_to_stay_outlives_its_caller_and_its_terminal() -> None:
    with calling("group.release()") as (caller, pid, folder):
        wait_for((folder / READY_FILE).exists)
        assert caller.wait(DEADLINE_S) == 0
    ready = Ready.model_validate_json((folder / READY_FILE).read_text())
    try:
        os.killpg(pid, signal.SIGHUP)
        assert ask(ready.endpoint, "status") == {"token": "t", "pid": pid}
    finally:
        end_group(pid)
        assert remove_folder(folder)


@contextmanager
def calling(then: str) -> Iterator[tuple[subprocess.Popen[str], int, Path]]:
    """A program that starts a group and then does that: the program, the group and the group's folder."""
    program = (
        "import time\n"
        "from local.group import Group\n"
        "from local.settings import ServerSettings\n"
        "group = Group(ServerSettings(token='t'))\n"
        "print(group.pid, group.folder, flush=True)\n" + then
    )
    root = Path(__file__).parents[2]
    caller = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=root)
    with caller:
        assert caller.stdout is not None
        pid, folder = caller.stdout.readline().split()
        try:
            yield caller, int(pid), Path(folder)
        finally:
            caller.kill()


def test_a_port_that_is_taken_is_one_sentence(running: Toy) -> None:
    port = int(running.clients.endpoint.rsplit(":", 1)[1])
    group = Group(ServerSettings(token="second", port=port))
    try:
        wait_for(lambda: not group.alive())
        said = (group.folder / FAILED_FILE).read_text()
    finally:
        group.end()
    assert said == f"Port {port} of 127.0.0.1 cannot be used (Address already in use); choose another."


def standing(token: str, path: Path) -> Group:
    group = Group(ServerSettings(token=token))
    wait_for((group.folder / READY_FILE).exists)
    ready = Ready.model_validate_json((group.folder / READY_FILE).read_text())
    state = State(
        pid=group.pid, token=token, folder=group.folder, endpoint=ready.endpoint, stand_in=True, outputs={"A": "b"}
    )
    write_state(state, path)
    group.release()
    return group


def test_a_cloud_that_stays_is_found_and_ended_by_its_state_file(tmp_path: Path) -> None:
    path = tmp_path / "state" / "state.json"
    group = standing("mine", path)
    try:
        found = find_running(path)
        assert found is not None
        assert (found.outputs, found.model_requests) == ({"A": "b"}, 0)
        assert down(path) == Ended(ran=True, removed=group.folder)
        assert members(group.pid) == []
        assert not group.folder.exists()
        assert not path.parent.exists()
        assert down(path) == Ended()
    finally:
        group.end()


def test_a_stale_state_file_ends_nothing(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with served() as toy:
        other = State(
            pid=toy.group.pid,
            token="another cloud's",
            folder=tmp_path / "gone",
            endpoint=toy.clients.endpoint,
            stand_in=True,
            outputs={},
        )
        write_state(other, path)
        assert find_running(path) is None
        assert down(path) == Ended()
        assert ask(toy.clients.endpoint, "status")["token"] == "toy"


def test_with_another_endpoint_the_handlers_are_sent_there_and_no_claude_listens() -> None:
    with served(claude_url="http://127.0.0.1:9") as toy:
        toy.deploy("one", SHOWS_ITS_ENVIRONMENT, {})
        assert environment_of_a_handler(toy)["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:9"
        # The gateway and the payment provider.
        assert listening_addresses(members(toy.group.pid)) == [LOCALHOST, LOCALHOST]
