"""What the walk is shown on: a local cloud that real commands are run against, and what is checked on the way."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cached_property
from itertools import islice
from pathlib import Path

from bench.processes import Processes
from cli.errors import NotSoError
from cli.finding import Finder
from cli.refunding import Refunds, RefundStatus
from cli.target import Target
from functions.uploads.model import RowCounts, Upload
from local.outbox import Notice
from local.running import RunningCloud
from local.state import DEFAULT_STATE_FILE, State, find_running

PROSPECTS = Path(sys.executable).with_name("prospects")
PATIENCE_S = 180.0
_COMMAND_S = 120.0
_LOOK_S = 0.1
_ROLES = {"intake": "IntakeFunctionName"}
_NOT_THE_CALLERS = ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
"""The stand-in answers here, whatever the caller has set up."""


class WalkError(Exception):
    """Something did not come as it was announced; the message says what."""


class Stage:
    """Commands run in `folder`, where the state file of their local cloud is too; all output goes to stdout."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def say(self, *lines: str) -> None:
        _out("\n".join(lines) + "\n")

    def run(self, *arguments: str, ends_with: int = 0) -> None:
        """Show a command and what it prints. Raises WalkError for another exit code."""
        self.show(f"prospects {shlex.join(arguments)}")
        self.ended(self.start(*arguments), ends_with)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Only start a command; it prints to where this prints, so at a terminal it has its colours."""
        environment = {name: value for name, value in os.environ.items() if name not in _NOT_THE_CALLERS}
        return subprocess.Popen(  # noqa: S603 - our own command
            [PROSPECTS, *arguments],
            cwd=self._folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
        )

    def ended(self, command: subprocess.Popen[bytes], ends_with: int = 0) -> None:
        try:
            code = command.wait(_COMMAND_S)
        except subprocess.TimeoutExpired:
            command.terminate()
            raise WalkError(f"the command above did not end within {_COMMAND_S:.0f} s") from None
        if code != ends_with:
            raise WalkError(f"the command above ended with exit code {code}, and {ends_with} was expected")

    def show(self, command: str) -> None:
        _out(f"\n$ {command}\n")

    def check(self, what: str, found: object, expected: object) -> None:
        """One number of what is claimed, shown. Raises WalkError."""
        if found != expected:
            raise WalkError(f"{what}: {found}, and {expected} was expected")
        _out(f"✓ {what}: {found}\n")

    def wait(self, what: str, holds: Callable[[], bool], *, look_s: float = _LOOK_S) -> None:
        """Raises WalkError when it takes too long."""
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            if time.monotonic() > deadline:
                raise WalkError(f"waited {PATIENCE_S:.0f} s for {what}, in vain")
            time.sleep(look_s)

    def wait_until_done(self, file: str) -> RowCounts:
        """What its rows ended as."""
        ended: list[RowCounts] = []

        def done() -> bool:
            upload = self.upload(file)
            ended[:] = [upload.rows] if upload is not None and upload.state == "done" else []
            return bool(ended)

        self.wait(f"{file} to be done", done)
        return ended[0]

    def first_lines(self, file: str, count: int) -> list[str]:
        with (self._folder / file).open(encoding="utf-8-sig") as lines:
            return [line.rstrip() for line in islice(lines, count)]

    def upload(self, file: str) -> Upload | None:
        """As it stands; None while it is not taken in, or not even uploaded."""
        try:
            return self._finder.find(file).upload
        except NotSoError:
            return None

    def notices(self, file: str, subject: str) -> list[Notice]:
        """What would have been mailed about an upload, with a subject that begins so."""
        upload = self.upload(file)
        named = upload.upload_id if upload else file
        return [each for each in self.cloud.outbox() if each.subject.startswith(subject) and named in each.text]

    def refund(self, request_id: str) -> RefundStatus:
        return Refunds(Target(self.cloud, "", "", "", "", "")).status(request_id)

    def refunds_made(self, request_id: str) -> int:
        """At the payment provider, whatever we know of them."""
        return int(self.cloud.refunds()["by_request_id"].get(request_id, 0))

    @property
    def requests(self) -> int:
        """Requests the model's stand-in has read."""
        return self.cloud.model_requests or 0

    @property
    def billed(self) -> int:
        return self.cloud.billed_requests or 0

    @property
    def dead_letters(self) -> int:
        return sum(self.cloud.dead_letters().values())

    @cached_property
    def cloud(self) -> RunningCloud:
        running = find_running(self._state_file)
        if running is None:
            raise WalkError("the local cloud does not answer")
        return running

    @cached_property
    def handlers(self) -> Processes:
        group = State.model_validate_json(self._state_file.read_text()).pid
        return Processes(group, {role: self.cloud.outputs[name] for role, name in _ROLES.items()})

    @cached_property
    def _finder(self) -> Finder:
        return Finder(self.cloud)

    @property
    def _state_file(self) -> Path:
        return self._folder / DEFAULT_STATE_FILE


def _out(text: str) -> None:
    sys.stdout.write(text)
    # Before a command prints to the same place.
    sys.stdout.flush()
