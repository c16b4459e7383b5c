"""`python -m local.server FOLDER`: the emulator, the bus and the stand-ins, as one process on 127.0.0.1.

It runs in a clean environment, which its handlers inherit. It writes `ready.json` into FOLDER when it listens, or
`failed.txt` with one sentence.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from hypercorn.asyncio import serve
from hypercorn.config import Config

from local.errors import GivenError, LocalCloudError
from local.group import ROOT, STAY
from local.settings import ACCOUNT, FAILED_FILE, READY_FILE, REGION, SETTINGS_FILE, Ready, ServerSettings

HOST = "127.0.0.1"
_BACKLOG = 256
_KEEP_ALIVE_S = 75


def main(folder: Path) -> int:
    """Serve until a signal or the end of the lifeline; 1 when it could not start."""
    # A terminal that closes ends the caller; a cloud that was told to stay goes on.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    threading.Thread(target=_end_with_caller, args=(folder,), daemon=True).start()
    settings = ServerSettings.model_validate_json((folder / SETTINGS_FILE).read_text())
    try:
        asyncio.run(_run(folder, settings))
    except LocalCloudError as error:
        (folder / FAILED_FILE).write_text(str(error))
        return 1
    return 0


async def _run(folder: Path, settings: ServerSettings) -> None:
    gateway, claude, payments = _listen(settings.port), _listen(0), _listen(0)
    endpoint = f"http://{HOST}:{gateway.getsockname()[1]}"
    stand_in = None if settings.claude_url else f"http://{HOST}:{claude.getsockname()[1]}"
    os.environ["STRIPE_API_BASE"] = f"http://{HOST}:{payments.getsockname()[1]}"
    _prepare_environment(endpoint, gateway.getsockname()[1], settings.claude_url or stand_in)
    # Only now: the emulator reads its port and its host from the environment when it is imported.
    from local.assembly import assemble  # noqa: PLC0415

    cloud = assemble(settings, asyncio.get_running_loop())
    if stand_in is None:
        claude.close()
    else:
        await cloud.claude.start(claude)
    cloud.payments.start(payments)
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    ready = Ready(pid=os.getpid(), token=settings.token, endpoint=endpoint, claude=stand_in)
    _publish(folder, ready)
    try:
        await serve(cloud.app, _config(gateway), shutdown_trigger=stopped.wait)  # type: ignore[arg-type]
    finally:
        await cloud.claude.close()
        await asyncio.to_thread(cloud.payments.close)
        await asyncio.to_thread(cloud.end_handlers)


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        raise GivenError(f"Port {port} of {HOST} cannot be used ({error.strerror}); choose another.") from error
    listening.listen(_BACKLOG)
    listening.settimeout(0)
    return listening


def _prepare_environment(endpoint: str, port: int, claude_url: str | None) -> None:
    os.environ.update(
        {
            # Every handler gets a session of its deployed role and may do what that role may, as on AWS.
            "AUTH": "true",
            "BIND_HOST": HOST,
            "MINISTACK_HOST": HOST,
            "MINISTACK_REGION": REGION,
            "MINISTACK_ACCOUNT_ID": ACCOUNT,
            "GATEWAY_PORT": str(port),
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            "LAMBDA_EXECUTOR": "local",
            "LOG_LEVEL": os.environ.get("LOG_LEVEL", "INFO"),
            "AWS_ENDPOINT_URL": endpoint,
        }
    )
    if claude_url:
        os.environ["ANTHROPIC_BASE_URL"] = claude_url
    # The handlers take their code from the deployed asset, never from where the server was started.
    os.environ.pop("PYTHONPATH", None)


def _config(gateway: socket.socket) -> Config:
    config = Config()
    config.bind = [f"fd://{gateway.detach()}"]
    config.keep_alive_timeout = _KEEP_ALIVE_S
    config.accesslog = None
    config.errorlog = "-"
    config.loglevel = "WARNING"
    return config


def _publish(folder: Path, ready: Ready) -> None:
    unfinished = folder / f"{READY_FILE}.part"
    unfinished.write_text(ready.model_dump_json())
    unfinished.rename(folder / READY_FILE)


def _end_with_caller(folder: Path) -> None:
    """The caller holds the other end of standard input: when it is gone, however it went, nothing may stay behind."""
    if os.read(sys.stdin.fileno(), len(STAY)) == STAY:
        return
    own = os.getpid()
    # The emulator's threads write until this process is dead, so another one removes the folder after that.
    with contextlib.suppress(OSError):
        subprocess.Popen(  # noqa: S603 - our own module, our own folder
            [sys.executable, "-m", "local.leftovers", str(folder), str(own)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    if os.getpgrp() == own:
        os.killpg(own, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
