"""`prospects local …`: the real stacks and handlers on a local cloud, without an account."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console

from cli.cloud import Cloud
from cli.demo import Demo
from cli.errors import CommandError
from cli.inputs import input_files, results_folder
from cli.progress import Progress, progress_on
from cli.render import STAND_IN, show_run
from cli.running import Runner
from local.cloud import LocalCloud, up
from local.errors import LocalCloudError
from local.options import LocalCloudOptions
from local.state import DEFAULT_STATE_FILE, down

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
    out: Out = Path("results"),
    patience: Patience = PATIENCE_S,
) -> None:
    """Upload files to a fresh local cloud, wait for their end and show what became of every row."""
    with _sentences():
        chosen, folder = input_files(files), results_folder(out)
        with _fresh_cloud(LocalCloudOptions(claude_script=claude, real_claude=real_claude)) as (cloud, progress):
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
    with _sentences():
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
) -> None:
    """Start a local cloud that stays until `prospects local down`."""
    options = LocalCloudOptions(port=port, claude_script=claude, real_claude=real_claude)
    with _sentences(), progress_on(_stderr()) as progress:
        state = up(options, progress=_stages(progress))
    print(f"endpoint {state.endpoint}")
    print(f"bucket   {state.outputs['UploadsBucketName']}")
    print(f"labels   by {STAND_IN if state.stand_in else 'another endpoint'}")
    print(f"state    {DEFAULT_STATE_FILE}")
    print("stop     prospects local down (in this folder)")


@app.command("down")
def stop() -> None:
    """End the local cloud that `prospects local up` started in this folder."""
    with _sentences():
        ended = down()
    print("The local cloud has ended." if ended else "No local cloud is running from this folder.")


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


def _stages(progress: Progress) -> Callable[[str], None]:
    return lambda stage: progress.stage(STAGES.get(stage, stage))


def _stderr() -> Console:
    return Console(stderr=True)


def _answered_by(model_requests: int | None, *, real_claude: bool) -> str:
    if model_requests is not None:
        return STAND_IN
    return "Claude" if real_claude else "the endpoint in ANTHROPIC_BASE_URL"


@contextmanager
def _sentences() -> Iterator[None]:
    """What went wrong as one sentence on stderr, and exit code 2."""
    try:
        yield
    except (CommandError, LocalCloudError) as error:
        sentence = str(error)
    except ClientError as error:
        sentence = f"The local cloud refused {error.operation_name}: {error.response['Error']['Code']}."
    except BotoCoreError as error:
        sentence = f"The local cloud stopped answering ({type(error).__name__})."
    else:
        return
    print(sentence, file=sys.stderr)
    raise typer.Exit(2)
