"""`LocalCloud`: a local cloud of one's own, from its first process to its last."""

from __future__ import annotations

import atexit
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from local.deploy import deploy
from local.errors import GivenError, LocalCloudError, sentence
from local.group import Group
from local.options import STRIPE_KEY, LocalCloudOptions
from local.running import RunningCloud, ask
from local.settings import FAILED_FILE, READY_FILE, Ready
from local.state import DEFAULT_STATE_FILE, State, down, find_running, forget_state, hangs, write_state
from local.synth import ROOT, SYNTH_LOG, synthesize

Progress = Callable[[str], None]
STAGES = ("starting", "synthesizing", "deploying", "ready")
KEPT_LOG = ROOT / "build" / "local-cloud.log"

_START_S = 60.0
_WARM_S = 90.0
_POLL_S = 0.02


class LocalCloud(RunningCloud):
    """Starts, synthesizes and deploys on entry; ends its process group and its folder on exit, whatever happens.

    `progress` is told each of STAGES. Raises `LocalCloudError` with one sentence.
    """

    def __init__(self, options: LocalCloudOptions | None = None, *, progress: Progress = lambda _: None) -> None:
        super().__init__("", {}, stand_in=True)
        self.dropped: Sequence[str] = ()
        self._options = options or LocalCloudOptions()
        self._progress = progress
        self._group: Group | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def process_group(self) -> int:
        return self._started().pid

    def logs(self) -> Path:
        """The file with what the server and its handlers log, while the cloud runs."""
        return self._started().log

    def start(self) -> None:
        """Raises `LocalCloudError`; nothing is left behind then, nor after Ctrl-C."""
        if self._group is not None:
            raise LocalCloudError("This local cloud has been started already.")
        settings = self._options.server_settings()
        self._progress("starting")
        self._group = Group(settings, world=settings.claude_url is not None)
        atexit.register(self.stop)
        try:
            self._start(stand_in=settings.claude_url is None)
        except GivenError:
            self.stop()
            raise
        except LocalCloudError as error:
            kept = self._keep_log()
            self.stop()
            raise LocalCloudError(f"{sentence(str(error))}{kept}") from error
        except BaseException:
            self.stop()
            raise
        self._progress("ready")

    def stop(self) -> None:
        """End the group and remove its folder. May be called twice."""
        atexit.unregister(self.stop)
        group, self._group = self._group, None
        if group is not None:
            group.end()

    def leave(self, path: Path = DEFAULT_STATE_FILE) -> State:
        """Let the cloud outlive this process, and write down where `find_running` and `down` find it."""
        group = self._started()
        state = State(
            pid=group.pid,
            token=self._token,
            folder=group.folder,
            endpoint=self.endpoint,
            stand_in=self._stand_in,
            outputs=self.outputs,
        )
        try:
            # In this order: until somebody else can find the cloud, it ends with this process.
            write_state(state, path)
            group.release()
        except BaseException as error:
            self.stop()
            forget_state(path)
            if isinstance(error, OSError):
                raise GivenError(f"The state file {path} cannot be written ({error.strerror}).") from None
            raise
        atexit.unregister(self.stop)
        self._group = None
        return state

    def _start(self, *, stand_in: bool) -> None:
        self._progress("synthesizing")
        # The server starts meanwhile, in its own process.
        context = self._options.stack_context()
        assembly = self._assembly(context)
        ready = self._wait_until_ready()
        self._token = ready.token
        super().__init__(ready.endpoint, {}, stand_in=stand_in)
        self._progress("deploying")
        key = self._options.claude_key()
        secrets = self.client("secretsmanager")
        secrets.create_secret(Name=context["anthropic_secret_name"], SecretString=key)
        secrets.create_secret(Name=context["stripe_secret_name"], SecretString=STRIPE_KEY)
        deployment = deploy(self._clients, assembly)
        self.outputs, self.dropped = deployment.outputs, deployment.dropped
        for name, fault in ask(self.endpoint, "warm", timeout_s=_WARM_S).items():
            raise LocalCloudError(sentence(f"The function {name} cannot be loaded: {fault}"))

    def _assembly(self, context: Mapping[str, str]) -> Path:
        """The folder with what is to be deployed: the project's own stacks."""
        group = self._started()
        return synthesize(context, scratch=group.scratch, group=group.pid)

    def _wait_until_ready(self) -> Ready:
        group = self._started()
        deadline = time.monotonic() + _START_S
        while time.monotonic() < deadline:
            if (group.folder / READY_FILE).exists():
                return Ready.model_validate_json((group.folder / READY_FILE).read_text())
            if not group.alive():
                raise _reason(group)
            time.sleep(_POLL_S)
        raise LocalCloudError(f"The local cloud did not start within {_START_S:g} s.")

    def _started(self) -> Group:
        if self._group is None:
            raise LocalCloudError("The local cloud is not running.")
        return self._group

    def _keep_log(self) -> str:
        with contextlib.suppress(OSError):
            KEPT_LOG.parent.mkdir(parents=True, exist_ok=True)
            group = self._started()
            logs = [log.read_bytes() for log in (group.log, group.scratch / SYNTH_LOG) if log.exists()]
            KEPT_LOG.write_bytes(b"\n".join(logs))
            return f" Its log is {KEPT_LOG}."
        return ""


def up(options: LocalCloudOptions, *, progress: Progress, path: Path = DEFAULT_STATE_FILE) -> State:
    """Start a cloud that stays. Raises `LocalCloudError`, also when one is running already."""
    running = find_running(path)
    if running is not None:
        raise LocalCloudError(f"A local cloud is running already at {running.endpoint}; end it first.")
    if hangs(path):
        raise LocalCloudError(
            "The local cloud of this folder does not answer; end it with `prospects local down` first."
        )
    # What a dead one left: nobody finds its folder once the state file is another's.
    down(path)
    cloud = LocalCloud(options, progress=progress)
    cloud.start()
    return cloud.leave(path)


def _reason(group: Group) -> LocalCloudError:
    failed = group.folder / FAILED_FILE
    return GivenError(failed.read_text()) if failed.exists() else LocalCloudError("The local cloud did not start.")
