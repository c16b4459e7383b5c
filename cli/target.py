"""Which cloud a command works on: the local one that runs in this folder, or the stacks deployed on AWS."""

from __future__ import annotations

import getpass
from dataclasses import dataclass
from typing import Annotated

import typer

from cli.cloud import Cloud
from cli.deployed import caller_of, find_stacks, session_for
from cli.errors import CommandError
from local.running import RunningCloud
from local.settings import ACCOUNT, REGION
from local.state import DEFAULT_STATE_FILE, find_running

DEFAULT_NAME = "ProspectUploader"

Name = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help=f"The deployment's name on AWS; {DEFAULT_NAME} if not given."),
]
Region = Annotated[
    str | None,
    typer.Option("--region", metavar="REGION", help="The deployment's AWS Region; else that of the AWS settings."),
]
Local = Annotated[bool, typer.Option("--local", help="The local cloud of this folder, and nothing else.")]
Aws = Annotated[bool, typer.Option("--aws", help="The stacks on AWS, even while a local cloud runs here.")]


@dataclass(frozen=True)
class Target:
    """A cloud, how it is called before people (`where`), and who is acting (`actor`: an ARN, or local:<user>).

    `local` is set where it is a local cloud. `name` is that of the deployment, in front of its stacks and alarms.
    """

    cloud: Cloud
    where: str
    actor: str
    name: str
    region: str
    account: str
    local: RunningCloud | None = None


def find_target(name: str | None, region: str | None, *, local: bool, aws: bool) -> Target:
    """The cloud that the options ask for; a name or a Region asks for AWS. Raises CommandError in one sentence."""
    on_aws = aws or name is not None or region is not None
    if local and on_aws:
        raise CommandError("--local asks for the local cloud, and --aws, --name and --region for AWS; leave one out.")
    # What was meant for a local cloud that died must not go to an account, where it costs money.
    begun_here = local or DEFAULT_STATE_FILE.exists()
    running = running_here() if begun_here and not on_aws else None
    if running is not None:
        where = f"the local cloud at {running.endpoint}"
        return Target(running, where, f"local:{_user()}", DEFAULT_NAME, REGION, ACCOUNT, running)
    return _on_aws(name or DEFAULT_NAME, region)


def running_here() -> RunningCloud:
    """The local cloud of this folder. Raises CommandError where none is running."""
    running = find_running()
    if running is None and DEFAULT_STATE_FILE.exists():
        raise CommandError(
            "The local cloud of this folder does not answer: end it with `prospects local down`, or give --aws."
        )
    if running is None:
        raise CommandError("No local cloud is running from this folder; start one with `prospects local up`.")
    return running


def _on_aws(name: str, region: str | None) -> Target:
    session = session_for(region)
    account, arn = caller_of(session)
    cloud = find_stacks(session, name, account)
    where = f"{name} in {session.region_name} (account {account})"
    return Target(cloud, where, arn, name, str(session.region_name), account)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "somebody"
