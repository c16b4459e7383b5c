"""`prospects local …`: the real stacks and handlers on a local cloud, without an account."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from cli.cloud import Cloud
from cli.demo import Demo
from cli.inputs import input_files, results_folder
from cli.progress import Progress, progress_on
from cli.render import STAND_IN, show_run
from cli.running import Runner
from cli.sentences import LOCAL, sentences
from cli.show_outbox import notice_json, show_outbox
from cli.stack_settings import Settings, settings_of
from cli.target import running_here
from local.clients import client_environment
from local.cloud import LocalCloud, up
from local.options import LocalCloudOptions
from local.state import DEFAULT_STATE_FILE, Ended, State, down

EXIT_CODES = (
    "Exit codes: 0 every file is done (rejected and failed rows included), 1 a file was refused or not finished, "
    "2 something named or needed is not there or not usable, 130 interrupted."
)
EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "prospects.csv"
PATIENCE_S = 300.0
STAGES = {
    "starting": "Starting the local cloud",
    "synthesizing": "Synthesizing the stacks (the first time takes some seconds)",
    "deploying": "Deploying the stacks",
    "ready": "The local cloud is ready",
}

app = typer.Typer(no_args_is_help=True, help="Run everything on this machine, on 127.0.0.1 and without an account.")

Files = Annotated[list[Path], typer.Argument(metavar="FILE", help="CSV files, uploaded in this order.")]
Script = Annotated[
    Path | None, typer.Option("--claude", metavar="SCRIPT", help="A JSON list of rules for the Claude stand-in.")
]
RealClaude = Annotated[
    bool, typer.Option("--real-claude", help="Let Claude itself answer; costs money and needs ANTHROPIC_API_KEY.")
]
Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the results CSVs are written.")]
Patience = Annotated[
    float, typer.Option("--patience", min=1, help="Seconds without any change after which a file is reported as it is.")
]


@app.command(epilog=EXIT_CODES)
def run(
    files: Files,
    *,
    claude: Script = None,
    real_claude: RealClaude = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, and nothing else, on stdout.")
    ] = False,
    settings: Settings = [],  # noqa: B006 - read only; None would show as a default
    out: Out = Path("results"),
    patience: Patience = PATIENCE_S,
) -> None:
    """Upload files to a fresh local cloud, wait for their end and show what became of every row."""
    with sentences(LOCAL):
        chosen, folder = input_files(files), results_folder(out)
        options = LocalCloudOptions(claude_script=claude, real_claude=real_claude, context=settings_of(settings))
        with _fresh_cloud(options) as (cloud, progress):
            report = Runner(cloud, progress, folder, patience).run(chosen)
    if as_json:
        print(report.to_json())
    else:
        show_run(Console(), report, _answered_by(report.model_requests, real_claude=real_claude))
    raise typer.Exit(0 if report.all_done else 1)


@app.command(epilog=EXIT_CODES.replace("every file is done", "the file is done, and the promises shown hold"))
def demo(
    file: Annotated[
        Path, typer.Argument(metavar="[FILE]", help="A CSV file of prospects.", show_default=False)
    ] = EXAMPLE,
    out: Out = Path("results"),
    patience: Patience = PATIENCE_S,
) -> None:
    """Upload a file, show every outcome and the requests made; upload it again and show that no more are made."""
    with sentences(LOCAL):
        [chosen], folder = input_files([file]), results_folder(out)
        with _fresh_cloud(LocalCloudOptions()) as (cloud, progress):
            runner = Runner(cloud, progress, folder, patience)
            held = Demo(runner, Console(), _answered_by(cloud.model_requests, real_claude=False)).show(chosen)
    raise typer.Exit(0 if held else 1)


@app.command("up")
def start(
    claude: Script = None,
    real_claude: RealClaude = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes any that is free.")] = 0,
    payments: Annotated[
        Path | None, typer.Option("--payments", metavar="SCRIPT", help="What goes wrong at the payment stand-in.")
    ] = None,
    settings: Settings = [],  # noqa: B006
) -> None:
    """Start a local cloud that stays until `prospects local down`."""
    with sentences(LOCAL), progress_on(_stderr()) as progress:
        options = LocalCloudOptions(
            port=port,
            claude_script=claude,
            payments_script=payments,
            real_claude=real_claude,
            context={"refunds": "true", **settings_of(settings)},
        )
        state = up(options, progress=_stages(progress))
    print(f"endpoint {state.endpoint}")
    print(f"bucket   {state.outputs['UploadsBucketName']}")
    print(f"labels   by {STAND_IN if state.stand_in else 'another endpoint'}")
    print(f"state    {DEFAULT_STATE_FILE}")
    print("use      prospects upload FILE --watch (in this folder)")
    print("stop     prospects local down (in this folder)")
    print(_for_other_clients(state))


@app.command("down")
def stop() -> None:
    """End the local cloud that `prospects local up` started in this folder."""
    with sentences(LOCAL):
        ended = down()
    print(_what_ended(ended))


@app.command(epilog="Exit codes: 0 shown, 2 no local cloud is running from this folder.")
def outbox(
    *,
    last: Annotated[
        int | None, typer.Option("--last", min=1, help="Only so many, the newest; --json has all.", show_default="all")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, and nothing else, on stdout.")
    ] = False,
) -> None:
    """Show what the running local cloud would have mailed: summaries, refusals, pauses, alarms."""
    with sentences(LOCAL):
        notices = running_here().outbox()
    if as_json:
        print(json.dumps({"notices": [notice_json(notice) for notice in notices]}))
    else:
        show_outbox(Console(), notices, last=last)


@contextmanager
def _fresh_cloud(options: LocalCloudOptions) -> Iterator[tuple[Cloud, Progress]]:
    with progress_on(_stderr()) as progress, LocalCloud(options, progress=_stages(progress)) as cloud:
        if cloud.dropped:
            progress.note(_not_kept(cloud.dropped))
        yield cloud, progress


def _not_kept(dropped: Sequence[str]) -> str:
    """One line for what the emulator left out of the stacks; `dropped` has a sentence for each, with its type."""
    types = Counter(found[1] if (found := re.search(r"\((AWS::[\w:]+)\)", sentence)) else "?" for sentence in dropped)
    listed = ", ".join(f"{kind} ({count})" for kind, count in sorted(types.items()))
    return f"Of the stacks, the emulator does not have or keep: {listed}"


def _for_other_clients(state: State) -> str:
    """Lines to copy: the AWS CLI and every SDK work against this cloud with them, in this Region and account only."""
    variables = " ".join(f"{name}={value}" for name, value in client_environment(state.endpoint).items())
    bucket = state.outputs["UploadsBucketName"]
    return (
        "\nFor the AWS CLI and the SDKs, to copy:\n"
        f"  export {variables}\n"
        f"  aws s3 cp leads.csv s3://{bucket}/uploads/\n"
        "The last line does what `prospects upload leads.csv` does."
    )


def _what_ended(ended: Ended) -> str:
    if ended.ran:
        said = "The local cloud has ended."
    elif ended.removed or ended.left:
        said = "The local cloud of this folder had ended by itself."
    else:
        return "No local cloud is running from this folder."
    if ended.left:
        return (
            f"{said} Its folder {ended.left} is not removed: it is not what a local cloud makes, or cannot be removed."
        )
    return said if ended.ran else f"{said} What it left in {ended.removed} has been removed."


def _stages(progress: Progress) -> Callable[[str], None]:
    return lambda stage: progress.stage(STAGES.get(stage, stage))


def _stderr() -> Console:
    return Console(stderr=True)


def _answered_by(model_requests: int | None, *, real_claude: bool) -> str:
    if model_requests is not None:
        return STAND_IN
    return "Claude" if real_claude else "the endpoint in ANTHROPIC_BASE_URL"
